//go:build race

package tokens

// raceEnabled tells that a pool loses things at random.
const raceEnabled = true
