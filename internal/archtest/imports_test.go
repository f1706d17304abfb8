package archtest

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spillway-mcp/spillway"

// layers are the packages of the module, from the bottom, those that are planned
// too; what stands below a package's folder and is not named goes with it. A
// package imports packages of layers below its own and its own family, and
// nothing else of the module; its tests may import what they like.
var layers = [][]string{
	{"internal/jsontape", "internal/wire", "internal/tokens", "internal/needle", "internal/upstream/reap", "internal/archtest", "internal/peertest", "internal/officialsuite", "internal/conformance"},
	{"internal/schema/schemadoc", "internal/yamlpos", "internal/ledger", "internal/stash", "internal/upstream", "internal/fixture", "internal/githubfake", "internal/era", "internal/client", "internal/httpmcp"},
	{"internal/jmespath", "internal/access"},
	{"internal/schema", "internal/record", "reduce", "contract"},
	{"internal/schema/schematest", "internal/rules", "internal/journal", "contract/contracttest"},
	{"internal/operation", "contract/durable"},
	{"internal/config", "internal/proxy", "internal/replay", "internal/draft", "internal/traceability", "internal/doctest"},
	{"internal/gateway", "internal/report"},
	{"internal/demo", "internal/bench"},
	{"internal/cli"},
	{"cmd/spillway", "experiments"},
}

// layerOf returns the layer of a package and the name that it is listed under;
// -1 if it is not.
func layerOf(path string) (layer int, family string) {
	for dir := path; dir != "."; dir = parent(dir) {
		if i := slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, dir) }); i >= 0 {
			return i, dir
		}
	}
	return -1, ""
}

func parent(dir string) string {
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		return dir[:i]
	}
	return "."
}

func TestImportsGoDown(t *testing.T) {
	for path, p := range packages(t) {
		own, family := layerOf(path)
		if own < 0 {
			t.Errorf("%s stands in no layer: say in archtest where it belongs, and in docs/design.md what it is", path)
			continue
		}
		for _, imported := range p.own {
			if at, of := layerOf(imported); at >= own && of != family {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go down", path, own, imported, at)
			}
		}
	}
}

// pure are the packages that give the same output for the same input on any
// machine at any time (RED-42).
var pure = []string{"reduce", "internal/jmespath", "internal/jsontape", "internal/schema", "internal/schema/schemadoc"}

// impure are what they may not import, by themselves or through packages of
// ours; what is below one is meant with it.
var impure = []string{"os", "net", "time", "math/rand", "crypto/rand", "syscall", "log", "runtime/debug"}

func TestRED42_PurePackagesReachNoClockDiskNetworkOrChance(t *testing.T) {
	all := packages(t)
	for _, path := range pure {
		seen := map[string]bool{}
		var visit func(path, by string)
		visit = func(path, by string) {
			if seen[path] {
				return
			}
			seen[path] = true
			p := all[path]
			if p == nil {
				t.Errorf("%s is no package", path)
				return
			}
			for _, std := range p.other {
				for _, bad := range impure {
					if std == bad || strings.HasPrefix(std, bad+"/") {
						t.Errorf("%s imports %s", by, std)
					}
				}
			}
			for _, own := range p.own {
				visit(own, by+" > "+own)
			}
		}
		visit(path, path)
	}
}
