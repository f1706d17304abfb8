package contracttest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// TestBroken holds the suite itself: over each broken face the cases that it
// breaks fail, and there is no case without such a face.
func TestBroken(t *testing.T) {
	byID := map[string]Case{}
	for _, c := range Cases() {
		if byID[c.ID].ID != "" {
			t.Errorf("two cases are called %s", c.ID)
		}
		byID[c.ID] = c
	}
	for id := range byID {
		if !slices.ContainsFunc(Broken(), func(b Breaker) bool { return slices.Contains(b.Fails, id) }) {
			t.Errorf("no broken face fails %s", id)
		}
	}
	for _, b := range Broken() {
		t.Run(b.Name, func(t *testing.T) {
			a := b.Wrap(Go(memories(), true))
			for _, id := range b.Fails {
				c, ok := byID[id]
				if !ok {
					t.Fatalf("there is no case %s", id)
				}
				r := c.Check(a)
				if len(r.Failures) == 0 {
					t.Errorf("%s (%s) passes over a face that %s (%s) %s", id, c.Title, b.Name, b.Rule, r.Skipped)
					continue
				}
				t.Logf("%s fails: %.160s", id, r.Failures[0])
			}
		})
	}
}

// wallStore is a journal whose only clock is the machine's, as it stands.
type wallStore struct{ contract.Store }

func (wallStore) Now(_ context.Context, local time.Time) (contract.Instant, error) {
	return contract.Instant{Stamp: contract.Stamp{At: local}}, nil
}

// TestWallClockAlone holds the cases about time to a journal that rests its
// decisions on one machine's wall clock.
func TestWallClockAlone(t *testing.T) {
	stores := memories()
	a := Go(func(dir string) (contract.Store, error) {
		s, err := stores(dir)
		return wallStore{s}, err
	}, true)
	for _, c := range Cases() {
		if c.ID == "M15" || c.ID == "M22" || c.ID == "M24" {
			if r := c.Check(a); len(r.Failures) == 0 {
				t.Errorf("%s (%s) passes over a journal that believes the wall clock", c.ID, c.Title)
			} else {
				t.Logf("%s fails: %.160s", c.ID, r.Failures[0])
			}
		}
	}
}
