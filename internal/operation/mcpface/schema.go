package mcpface

// receiptSchema is the JSON Schema of a receipt (C-24), in words that drafts 7
// and 2020-12 read alike. Receipts may gain members in minor versions.
const receiptSchema = `{"type":"object",` +
	`"properties":{` +
	`"operationId":{"type":"string"},` +
	`"operation":{"type":"string"},` +
	`"digest":{"type":"string"},` +
	`"outcome":{"enum":["completed","rejected","partial","pending","unknown"]},` +
	`"effect":{"enum":["none","committed","some","undetermined"]},` +
	`"nextAction":{"enum":["none","wait","reconcile","resume","new_key"]},` +
	`"result":{},` +
	`"recordsExamined":{"type":"integer"},` +
	`"complete":{"type":"boolean"},` +
	`"continuation":{"type":["string","null"]},` +
	`"pages":{"type":"integer"},` +
	`"skipped":{"type":"integer"},` +
	`"duplicates":{"type":"integer"},` +
	`"consistency":{"enum":["snapshot","live"]},` +
	`"position":{"type":"object"},` +
	`"evidence":{"type":"array","items":{"type":"string"}},` +
	`"reason":{"type":"string"},` +
	`"message":{"type":"string"},` +
	`"hint":{"type":"string"},` +
	`"parameter":{"type":"string"},` +
	`"conflict":{"type":"array","items":{"type":"string"}},` +
	`"replayed":{"type":"boolean"},` +
	`"completedAt":{"type":"string"},` +
	`"attempts":{"type":"integer"},` +
	`"steps":{"type":"array","items":{"type":"object"}},` +
	`"replay":{"enum":["safe","unsafe"]},` +
	`"notes":{"type":"array","items":{"type":"object"}}},` +
	`"required":["operationId","operation","digest","outcome","effect","nextAction"]}`

// previewSchema is the JSON Schema of a preview.
const previewSchema = `{"type":"object",` +
	`"properties":{` +
	`"operationId":{"type":"string"},` +
	`"operation":{"type":"string"},` +
	`"digest":{"type":"string"},` +
	`"scope":{"type":"string"},` +
	`"effects":{"enum":["read","create","update","delete"]},` +
	`"target":{"type":"string"},` +
	`"params":{"type":"object"},` +
	`"prediction":{},` +
	`"revision":{"type":"string"},` +
	`"informational":{"type":"boolean"},` +
	`"replay":{"enum":["safe","unsafe"]},` +
	`"reconcile":{"type":"string"},` +
	`"recorded":{"type":"string"},` +
	`"steps":{"type":"array","items":{"type":"string"}},` +
	`"expiresAt":{"type":"string"}},` +
	`"required":["operationId","operation","effects","params","replay"]}`
