package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hist is the distribution of sessions, in a picture 360 wide.
type hist struct {
	Desc   string
	Bars   []histBar
	Labels []histLabel
}

type histBar struct {
	Class      string
	X, Y, W, H int
	N          string // how many; "" of none
	TX, TY     int
}

type histLabel struct {
	X     int
	Text  string
	Class string
}

// Hist draws the distribution; nil without sessions.
func (p *page) Hist() *hist {
	most := 0
	for _, b := range p.Spread {
		most = max(most, b.Text, b.Structured)
	}
	if most == 0 {
		return nil
	}
	h := &hist{}
	var said []string
	const step, base, high = 31, 160, 135
	for i, b := range p.Spread {
		x := 10 + i*step
		if b.From == nil {
			x = 4
		}
		for k, n := range []int{b.Text, b.Structured} {
			class := []string{"text", "structured"}[k]
			tall := n * high / most
			if n > 0 {
				tall = max(tall, 2)
			}
			left, up := x+k*14, 4
			if k == 1 && max(b.Text, b.Structured) > 99 && tall <= b.Text*high/most+11 {
				up += 11 // two long numbers have no room side by side
			}
			h.Bars = append(h.Bars, histBar{Class: class, X: left, Y: base - tall, W: 12, H: tall, N: few(n), TX: left + 6, TY: base - tall - up})
		}
		if b.From == nil {
			h.Labels = append(h.Labels, histLabel{x + 13, "loss", "bad"})
		} else {
			h.Labels = append(h.Labels, histLabel{x - 2, fmt.Sprintf("%.0f", *b.From*100), ""})
		}
		if b.Text > 0 {
			said = append(said, fmt.Sprintf("%s: %d", b.label(), b.Text))
		}
	}
	h.Labels = append(h.Labels, histLabel{min(10+len(p.Spread)*step-2, 350), "100", ""})
	h.Desc = "As text hosts have it. " + strings.Join(said, ". ") + "."
	return h
}

// few is a number in little room.
func few(n int) string {
	switch {
	case n == 0:
		return ""
	case n > 999_999:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n > 9_999:
		return fmt.Sprintf("%d k", n/1000)
	}
	return strconv.Itoa(n)
}

// bar is one line of a picture of bars.
type bar struct {
	Name, Value string
	Bad         bool
	Parts       []part
}

type part struct {
	Class   string
	Percent string
}

func parts(total int64, classes []string, n ...int64) (all []part) {
	if total <= 0 {
		return nil
	}
	left := 100.0
	for i, x := range n {
		percent := min(max(0, float64(x)*100/float64(total)), left)
		left -= percent
		if percent > 0 {
			all = append(all, part{classes[i], strconv.FormatFloat(percent, 'f', 2, 64)})
		}
	}
	return all
}

// Tools draws what of each tool's results was still sent.
func (p *page) Tools() (all []bar) {
	for _, s := range p.Stats.Servers {
		for _, t := range s.Tools {
			if t.Text.BytesIn == 0 || t.Reduced == 0 && t.Expands == 0 {
				continue
			}
			all = append(all, bar{
				Name: clean(s.Server + "." + t.Tool), Value: share(t.Text.NetFraction).Show, Bad: t.Text.NetSaved < 0,
				Parts: parts(t.Text.BytesIn, []string{"k1", "k2"}, t.Text.BytesOut, t.Text.BytesExpanded),
			})
		}
	}
	if len(all) == 0 && len(p.Stats.Servers) > 0 {
		return []bar{{Name: "nothing was cut", Value: "–"}}
	}
	return all
}

// survival is the evidence of rules.
type survival struct {
	Bars  []bar // of rules that do not show all of theirs, the least first
	Whole int   // rules that do
}

// Survival draws the evidence that rules do not show; nil where there was none.
func (p *page) Survival() *survival {
	if p.Replay == nil || p.Replay.Rules.Evidence.Needed == 0 {
		return nil
	}
	s := &survival{}
	least := map[string]float64{}
	for _, r := range p.Replay.Rules.PerRule {
		e := r.Evidence
		if e.Needed == 0 {
			continue
		}
		if e.Shown == e.Needed {
			s.Whole++
			continue
		}
		name := r.Rule
		if r.When != "" {
			name += " when " + r.When
		}
		least[clean(name)] = *e.Survival
		s.Bars = append(s.Bars, bar{
			Name: clean(name), Value: share(e.Survival).Show, Bad: e.Lost > 0,
			Parts: parts(int64(e.Needed), []string{"k3", "k2", "k5"}, int64(e.Shown), int64(e.Expandable), int64(e.Lost)),
		})
	}
	slices.SortStableFunc(s.Bars, func(a, b bar) int { return cmp.Compare(least[a.Name], least[b.Name]) })
	return s
}

// Says is the sentence about the rules that have no bar.
func (s *survival) Says() string {
	switch {
	case s.Whole == 0:
		return ""
	case len(s.Bars) == 0 && s.Whole == 1:
		return "The one rule that had any shows all of it."
	case len(s.Bars) == 0:
		return fmt.Sprintf("All %d rules that had any show all of it.", s.Whole)
	case s.Whole == 1:
		return "One other rule that had any shows all of it."
	}
	return fmt.Sprintf("%d other rules that had any show all of it.", s.Whole)
}

var costClasses = []string{"k1", "k2", "k3", "k4", "k5"}

// CostBars draws the five costs of each session, without and with.
func (p *page) CostBars() (all []bar) {
	for i := range p.Costs {
		c := &p.Costs[i]
		most := max(c.Text.Without.Total.Tokens, c.Text.With.Total.Tokens)
		for _, side := range []struct {
			name string
			c    *Costs
			bad  bool
		}{{"without", &c.Text.Without, false}, {"with", &c.Text.With, c.Text.Saved.Tokens < 0}} {
			value := grouped(side.c.Total.Tokens)
			if side.c == &c.Text.With && c.Text.Without.Total.Tokens > 0 {
				value += ", " + less(c.Text.Saved.Tokens, c.Text.Without.Total.Tokens)
			}
			all = append(all, bar{
				Name: clean(c.name()) + ", " + side.name, Value: value, Bad: side.bad,
				Parts: parts(most, costClasses, side.c.Definitions.Tokens, side.c.Arguments.Tokens, side.c.Results.Tokens, side.c.Carried.Tokens, side.c.Failures.Tokens),
			})
		}
	}
	return all
}

// less says a saving of n of total, or the loss that it is.
func less(n, total int64) string {
	if n < 0 {
		return strings.TrimPrefix(percent(float64(n)/float64(total)), "−") + " more"
	}
	return percent(float64(n)/float64(total)) + " less"
}

// curve is one session's picture.
type curve struct {
	Name, Desc, Top, Last string
	With, Without         string // points
}

// Curves draws how the context of each session grows.
func (p *page) Curves() (all []curve) {
	for i := range p.Costs {
		if i == maxCurves {
			break
		}
		c := &p.Costs[i]
		end := c.Curve[len(c.Curve)-1]
		top := max(end.With, end.Without, 1)
		d := curve{Name: clean(c.name()), Top: short(top), Last: "turn " + strconv.Itoa(c.Turns)}
		d.Desc = fmt.Sprintf("%s tokens without, %s with", grouped(end.Without), grouped(end.With))
		if end.With > end.Without {
			d.Desc += ": a loss"
		}
		var with, without []string
		for _, at := range c.Curve {
			x := 46 + 306*float64(at.Turn)/float64(max(c.Turns, 1))
			point := func(n int64) string { return fmt.Sprintf("%.1f,%.1f", x, 128-118*float64(n)/float64(top)) }
			with, without = append(with, point(at.With)), append(without, point(at.Without))
		}
		d.With, d.Without = strings.Join(with, " "), strings.Join(without, " ")
		all = append(all, d)
	}
	return all
}

func short(n int64) string {
	switch {
	case n >= 10_000_000:
		return strconv.FormatInt(n/1_000_000, 10) + " M"
	case n >= 10_000:
		return strconv.FormatInt(n/1000, 10) + " k"
	}
	return grouped(n)
}
