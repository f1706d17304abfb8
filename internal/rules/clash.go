package rules

import "fmt"

// clashes reports tools of one server that would be listed under one name, as
// far as the file tells (RED-41).
func (b *builder) clashes() {
	for _, srv := range b.set.servers {
		taken := map[string]string{} // name to who has it, and where
		for _, e := range srv.entries {
			if e.level == LevelTool && e.renamed() == nil && !e.tool.Hide {
				taken[e.pattern] = fmt.Sprintf("the tool %q at %d:%d has that name", e.pattern, e.node.Line, e.node.Col)
			}
		}
		for _, e := range srv.entries {
			s := e.renamed()
			if s == nil || e.tool.Hide {
				continue
			}
			name := s.value.(string)
			if first := taken[name]; first != "" {
				b.errs.At(s.node, "", "%q cannot be renamed to %q: %s", e.pattern, name, first)
				continue
			}
			taken[name] = fmt.Sprintf("%q is renamed to it at %d:%d", e.pattern, s.node.Line, s.node.Col)
		}
	}
}

// renamed returns the entry's new name, if it has one that differs.
func (e *entry) renamed() *setting {
	for _, r := range e.rules {
		if s := r.get("rename"); s != nil && s.value != e.pattern {
			return s
		}
	}
	return nil
}

// Clashes returns one error, naming both tools, for each pair of a server's
// tools that its rules would list under one name (RED-41). It is for what the
// file alone cannot show, see [Load] for the rest.
func (s *Set) Clashes(server string, tools []string) (errs []error) {
	first := map[string]string{}
	for _, tool := range tools {
		t := s.For(server, tool)
		if t.Hide {
			continue
		}
		name := tool
		if t.Rename != "" {
			name = t.Rename
		}
		if other, taken := first[name]; taken {
			errs = append(errs, fmt.Errorf("%s: the tools %q and %q would both be listed as %q", server, other, tool, name))
			continue
		}
		first[name] = tool
	}
	return errs
}
