package access

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// uses are the times at which tokens were used, in a file beside theirs, because
// that one is watched. It is for people to see which tokens nobody needs: losing
// it, or a write of it, loses nothing else.
type uses struct {
	mu   sync.Mutex
	last map[string]time.Time // as written
}

// useGrain is how exactly uses are written down.
const useGrain = time.Hour

func usesPath(path string) string { return path + ".used" }

func loadUses(path string) map[string]time.Time {
	used := map[string]time.Time{}
	data, err := os.ReadFile(usesPath(path))
	if err == nil && json.Unmarshal(data, &used) == nil && used != nil {
		return used
	}
	return map[string]time.Time{}
}

// note writes down that a token is used, once an hour.
func (s *Store) note(name string) {
	now := s.now().UTC().Truncate(useGrain)
	s.uses.mu.Lock()
	defer s.uses.mu.Unlock()
	if !s.uses.last[name].Before(now) {
		return
	}
	used := loadUses(s.path) // other processes write it too
	used[name] = now
	s.uses.last = used
	data, err := json.Marshal(used)
	if err == nil {
		err = replace(usesPath(s.path), append(data, '\n'))
	}
	if err != nil {
		s.log.Debug("last use of a token not written down", "token", name, "err", err)
	}
}
