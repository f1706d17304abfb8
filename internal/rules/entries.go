package rules

// Entries returns every rule that the file states, in its order: of each server
// its tools and globs, then its default, and last the top default. What For
// returns is one of them, or has no variants, or is the default of a server that
// states none; that one is not listed, since nobody wrote it.
func (s *Set) Entries() []*Tool {
	var all []*Tool
	for _, srv := range s.servers {
		for _, e := range srv.entries {
			all = append(all, e.tool)
		}
		if srv.def != nil {
			all = append(all, srv.defTool)
		}
	}
	if s.top != nil {
		all = append(all, s.topTool)
	}
	return all
}
