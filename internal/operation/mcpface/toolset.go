package mcpface

import (
	"fmt"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// toolset is the tools of a Client's definitions.
type toolset struct {
	client  *contract.Client
	tools   []tool
	named   map[string]*tool
	mutates bool
}

// tool is one entry.
type tool struct {
	name string
	kind kind
	def  *contract.Definition
	// What the list shows; the two eras differ in which tools they see.
	entry []byte
	task  []byte // the same, for clients that may call it as a task; nil of others
	era   era
	ours  []string // arguments of a read that are not the operation's
}

type kind int

const (
	readTool kind = iota
	prepareTool
	commitTool
	mutationTool // of several rounds
	statusTool   // of all mutations
)

type era int

const (
	bothEras era = iota
	legacyOnly
	modernOnly
)

func newToolset(client *contract.Client, nameOf func(prefix, name string) string) (*toolset, error) {
	s := &toolset{client: client, named: map[string]*tool{}}
	defs := client.Definitions()
	newest := map[string]int{}
	for _, d := range defs {
		newest[d.Name()] = d.Major() // Definitions come in the order of versions
	}
	for _, d := range defs {
		name := d.Name()
		if d.Major() != newest[name] {
			name = fmt.Sprintf("%s_v%d", name, d.Major())
		}
		if d.IsRead() {
			s.add(&tool{name: nameOf("", name), kind: readTool, def: d})
			continue
		}
		s.add(&tool{name: nameOf("", name), kind: mutationTool, def: d, era: modernOnly})
		s.add(&tool{name: nameOf("", name+"_prepare"), kind: prepareTool, def: d, era: legacyOnly})
		s.add(&tool{name: nameOf("", name+"_commit"), kind: commitTool, def: d, era: legacyOnly})
	}
	s.mutates = slices.ContainsFunc(defs, func(d *contract.Definition) bool { return !d.IsRead() })
	if s.mutates {
		name := nameOf("spillway", "operation_status")
		s.tools = append(s.tools, tool{name: name, kind: statusTool, entry: statusEntry(name)})
	}
	for i := range s.tools {
		t := &s.tools[i]
		if s.named[t.name] != nil {
			return nil, fmt.Errorf("two operations would be the tool %q: rename one", t.name)
		}
		s.named[t.name] = t
	}
	return s, nil
}

func (s *toolset) add(t *tool) {
	t.entry = entryOf(t)
	if t.kind == commitTool {
		t.task = append(t.entry[:len(t.entry)-1:len(t.entry)-1], `,"execution":{"taskSupport":"optional"}}`...)
	}
	doc, err := jsontape.Parse(t.def.Spec().Params)
	for _, name := range []string{continuationArg, evidenceArg} {
		if err == nil && !doc.Root().Lookup("properties", name).Exists() {
			t.ours = append(t.ours, name)
		}
	}
	s.tools = append(s.tools, *t)
}

// nameOf returns the name of a tool of an operation.
func (s *toolset) nameOf(k kind, def *contract.Definition) string {
	for i := range s.tools {
		if s.tools[i].kind == k && s.tools[i].def == def {
			return s.tools[i].name
		}
	}
	return ""
}

// statusName is the name of the tool that tells how an operation stands.
func (s *toolset) statusName() string { return s.nameOf(statusTool, nil) }
