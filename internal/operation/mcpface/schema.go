package mcpface

// The listed output schemas name what a model or a program branches on. They
// are looser than [contract.ReceiptSchema], under which every receipt is valid
// too: the whole of it in each tool would cost more than the answers do. Drafts
// 7 and 2020-12 read them alike.
const (
	mutationSchema = `{"type":"object","properties":{` + always + `},` + needed + `}`

	readSchema = `{"type":"object","properties":{` + always + `,` +
		`"recordsExamined":{"type":"integer"},` +
		`"complete":{"type":"boolean"},` +
		`"continuation":{"type":["string","null"]}},` + needed + `}`

	always = `"operationId":{"type":"string"},` +
		`"outcome":{"enum":["completed","rejected","partial","pending","unknown"]},` +
		`"effect":{"enum":["none","committed","some","undetermined"]},` +
		`"nextAction":{"enum":["none","wait","reconcile","resume","new_key"]},` +
		`"result":{},` +
		`"reason":{"type":"string"},` +
		`"message":{"type":"string"}`

	needed = `"required":["operationId","outcome","effect","nextAction"]`

	previewSchema = `{"type":"object","properties":{` +
		`"operationId":{"type":"string"},` +
		`"effects":{"type":"string"},` +
		`"target":{"type":"string"},` +
		`"params":{"type":"object"},` +
		`"prediction":{},` +
		`"informational":{"type":"boolean"},` +
		`"replay":{"enum":["safe","unsafe"]}},` +
		`"required":["operationId","params","replay"]}`
)
