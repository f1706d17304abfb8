package jmespath

type value struct{}
type call struct{}
type hashLookup struct{}
