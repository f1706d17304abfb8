package jmespath

// ForgetsNames reports whether e may take values out of an object whose
// members it does not name, as *.age and values(@) do: the members' names,
// which are then data, are not in the result.
func (e *Expr) ForgetsNames() bool { return forgetsNames(e.root) }

func forgetsNames(n node) bool {
	switch n := n.(type) {
	case *subNode:
		return forgetsNames(n.left) || forgetsNames(n.right)
	case *pipeNode:
		return forgetsNames(n.left) || forgetsNames(n.right)
	case *projectNode:
		// A condition only chooses.
		return n.op == projectObject || forgetsNames(n.left) || forgetsNames(n.right)
	case *orNode:
		return forgetsNames(n.left) || forgetsNames(n.right)
	case *andNode:
		return forgetsNames(n.left) || forgetsNames(n.right)
	case *ternaryNode:
		return forgetsNames(n.yes) || forgetsNames(n.no)
	case *listNode:
		for _, item := range n.items {
			if forgetsNames(item) {
				return true
			}
		}
	case *hashNode:
		for _, m := range n.members {
			if forgetsNames(m.val) {
				return true
			}
		}
	case *callNode:
		if n.fn.name == "values" {
			return true
		}
		for _, a := range n.args {
			if forgetsNames(a) {
				return true
			}
		}
	case *refNode:
		return forgetsNames(n.of)
	case *letNode:
		for _, v := range n.values {
			if forgetsNames(v) {
				return true
			}
		}
		return forgetsNames(n.body)
	}
	return false
}
