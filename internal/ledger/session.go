package ledger

// saved is what one session saved: of in bytes, net of all costs.
type saved struct {
	in, net             int64 // text view
	structIn, structNet int64
}

func (s *saved) add(o saved) {
	s.in += o.in
	s.net += o.net
	s.structIn += o.structIn
	s.structNet += o.structNet
}

// A session is what one saved, in all and in the groups of the servers and tools
// that it used. Those are few, and there are many sessions: a list takes a third
// of what a map does.
type session struct {
	all   saved
	parts []part
	more  map[int32]*saved // those behind maxParts
}

type part struct {
	group int32
	saved
}

// maxParts is how many groups are looked through one by one.
const maxParts = 64

func (s *session) part(group int32) *saved {
	for i := range s.parts {
		if s.parts[i].group == group {
			return &s.parts[i].saved
		}
	}
	if len(s.parts) < maxParts {
		s.parts = append(s.parts, part{group: group})
		return &s.parts[len(s.parts)-1].saved
	}
	p := s.more[group]
	if p == nil {
		if s.more == nil {
			s.more = make(map[int32]*saved)
		}
		p = new(saved)
		s.more[group] = p
	}
	return p
}

// merge adds those of another Tally, whose groups have other numbers here. It
// takes over what it can: most sessions stand in one block of a ledger.
func (s *session) merge(o *session, groups []int32) {
	s.all.add(o.all)
	if s.parts == nil {
		for i := range o.parts {
			o.parts[i].group = groups[o.parts[i].group]
		}
		s.parts = o.parts
	} else {
		for _, p := range o.parts {
			s.part(groups[p.group]).add(p.saved)
		}
	}
	for group, p := range o.more {
		s.part(groups[group]).add(*p)
	}
}

// shares is what each session saved in each group, by the group's number; that of
// all is 0.
func (t *Tally) shares() [][]saved {
	n := make([]int, t.groups+1)
	n[0] = len(t.sessions)
	for _, s := range t.sessions {
		for i := range s.parts {
			n[s.parts[i].group]++
		}
		for group := range s.more {
			n[group]++
		}
	}
	all := make([][]saved, len(n))
	for i := range all {
		all[i] = make([]saved, 0, n[i])
	}
	for _, s := range t.sessions {
		all[0] = append(all[0], s.all)
		for i := range s.parts {
			p := &s.parts[i]
			all[p.group] = append(all[p.group], p.saved)
		}
		for group, p := range s.more {
			all[group] = append(all[group], *p)
		}
	}
	return all
}
