package contracttest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// Claim is what a face says became of one operation key.
type Claim struct {
	Caller    string
	Operation string // name, or name@major.minor
	Key       string
	Params    json.RawMessage // of the first call
	Receipt   *contract.Receipt
}

func (c Claim) String() string { return fmt.Sprintf("%s %s %s", c.Caller, nameOf(c.Operation), c.Key) }

// Judge holds claims against the log of effects, which alone is believed, and
// returns what does not fit: a key that the upstream saw take effect twice,
// completed without exactly one effect of an equal result, rejected with an
// effect, unknown with more than one, and effects that no claim accounts for.
func Judge(log []upstream.Effect, claims []Claim) []string {
	var wrong []string
	keys := map[string]int{}
	effects := map[string][]upstream.Effect{}
	for _, e := range log {
		if e.Action == "delete" {
			continue // of a compensation, which undoes one of the others
		}
		effects[effectSubject(e)] = append(effects[effectSubject(e)], e)
		if e.Key == "" {
			continue
		}
		if keys[e.Key]++; keys[e.Key] == 2 {
			wrong = append(wrong, fmt.Sprintf("the key %s took effect twice: %s", e.Key, effectSubject(e)))
		}
	}
	type account struct{ least, most int }
	accounts := map[string]*account{}
	results := map[string][]json.RawMessage{} // claimed so far, by subject
	for _, c := range claims {
		for _, s := range subjects(c.Operation, c.Params) {
			a := accounts[s.text]
			if a == nil {
				a = &account{}
				accounts[s.text] = a
			}
			if c.Receipt == nil {
				a.most++
				continue
			}
			switch st := stands(c.Receipt, s); st.state {
			case happened:
				a.least++
				a.most++
				if st.result != nil {
					results[s.text] = append(results[s.text], st.result)
				}
			case maybe:
				a.most++
			}
		}
	}
	for text, a := range accounts {
		n := len(effects[text])
		switch {
		case n > a.most:
			wrong = append(wrong, fmt.Sprintf("%d effects, and the claims allow %d: %s", n, a.most, text))
		case n < a.least:
			wrong = append(wrong, fmt.Sprintf("%d effects, and the claims say %d: %s", n, a.least, text))
		}
		left := append([]upstream.Effect(nil), effects[text]...)
		for _, r := range results[text] {
			i := 0
			for ; i < len(left) && !sameJSON(left[i].Result, r); i++ {
			}
			if i == len(left) {
				wrong = append(wrong, fmt.Sprintf("the result %s is that of no effect, or of one that another claim has: %s", r, text))
				continue
			}
			left = append(left[:i], left[i+1:]...)
		}
	}
	for text, list := range effects {
		if accounts[text] == nil {
			wrong = append(wrong, fmt.Sprintf("%d effects that nobody claims: %s", len(list), text))
		}
	}
	return wrong
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
