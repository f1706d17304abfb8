//go:build unix

package reap

// under returns the keys of parents that have root above them.
func under(root int, parents map[int]int) []int {
	var found []int
	for pid := range parents {
		p := pid
		for range len(parents) {
			if p = parents[p]; p == root {
				found = append(found, pid)
				break
			}
			if p == 0 {
				break
			}
		}
	}
	return found
}
