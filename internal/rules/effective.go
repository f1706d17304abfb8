package rules

// Effective is a whole rule set as it is in force, for programs: every entry
// of the file with what it inherits. Its JSON is promised to --json.
type Effective struct {
	File    string            `json:"file"` // empty if built in
	Digest  string            `json:"digest"`
	Default EffectiveTool     `json:"default"` // what holds for servers that have no rules
	Servers []EffectiveServer `json:"servers"` // in the file's order
}

// EffectiveServer is what holds for the tools of one server.
type EffectiveServer struct {
	Server  string          `json:"server"`
	Default EffectiveTool   `json:"default"` // for tools that no entry matches
	Tools   []EffectiveTool `json:"tools"`   // the exact names, then the globs as they are tried
}

// EffectiveTool is what holds for the tools that match one entry.
type EffectiveTool struct {
	Match       string          `json:"match"`
	Level       Level           `json:"level"`
	Rename      string          `json:"rename,omitempty"`
	Hide        bool            `json:"hide,omitempty"`
	Description string          `json:"description,omitempty"`
	Pass        bool            `json:"pass,omitempty"`
	Rules       []EffectiveRule `json:"rules"` // the first whose when holds applies
}

// EffectiveRule is one resolved rule and where each of its keys comes from.
type EffectiveRule struct {
	When   string   `json:"when,omitempty"`
	Digest string   `json:"digest"`
	Keys   []Origin `json:"keys"`
}

// Effective returns the set with everything resolved.
func (s *Set) Effective() Effective {
	e := Effective{File: s.file, Digest: s.digest, Default: s.topTool.effective(), Servers: []EffectiveServer{}}
	for _, srv := range s.servers {
		es := EffectiveServer{Server: srv.name, Default: srv.defTool.effective(), Tools: []EffectiveTool{}}
		for _, entry := range srv.entries {
			if entry.level == LevelTool {
				es.Tools = append(es.Tools, entry.tool.effective())
			}
		}
		for _, entry := range srv.globs {
			es.Tools = append(es.Tools, entry.tool.effective())
		}
		e.Servers = append(e.Servers, es)
	}
	return e
}

func (t *Tool) effective() EffectiveTool {
	e := EffectiveTool{
		Match: t.Match, Level: t.Level, Rename: t.Rename, Hide: t.Hide,
		Description: t.Description, Pass: t.Pass, Rules: []EffectiveRule{},
	}
	for _, v := range t.Variants {
		r := EffectiveRule{Digest: v.Digest, Keys: append([]Origin{}, v.Origin...)}
		if v.When != nil {
			r.When = v.When.String()
		}
		e.Rules = append(e.Rules, r)
	}
	return e
}
