package upstream

// ownProgram is this very program, also when its file was replaced since.
func ownProgram() (string, error) { return "/proc/self/exe", nil }
