package stash

const childEnv = "SPILLWAY_STASH_CHILD"

func child(string) {}
