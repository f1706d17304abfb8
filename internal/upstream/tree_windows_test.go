package upstream

var processScripts map[string]func()
