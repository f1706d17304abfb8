package jmespath

import "github.com/spillway-mcp/spillway/internal/jsontape"

// members returns the members of argument i, which is an object.
func (c *call) members(i int) ([]member, error) {
	v := c.args[i]
	n := v.tape.Len()
	if v.built != nil {
		n = len(v.built.members)
	}
	if err := c.ev.charge(c.node, n); err != nil {
		return nil, err
	}
	return v.members(), nil
}

func (c *call) eachMember(of func(m member) value) (value, error) {
	if err := c.want(0, jsontape.Object); err != nil {
		return null, err
	}
	members, err := c.members(0)
	if err != nil {
		return null, err
	}
	out := make([]value, len(members))
	for i, m := range members {
		out[i] = of(m)
	}
	return newArray(out), nil
}

func callKeys(c *call) (value, error) {
	return c.eachMember(func(m member) value { return m.key })
}

func callValues(c *call) (value, error) {
	return c.eachMember(func(m member) value { return m.val })
}

func callItems(c *call) (value, error) {
	return c.eachMember(func(m member) value { return newArray([]value{m.key, m.val}) })
}

func callMerge(c *call) (value, error) {
	for i := range c.args {
		if err := c.want(i, jsontape.Object); err != nil {
			return null, err
		}
	}
	set := newMembers(0)
	for i := range c.args {
		members, err := c.members(i)
		if err != nil {
			return null, err
		}
		for _, m := range members {
			set.put(m.key, m.val)
		}
	}
	return newObject(set.list), nil
}

func callFromItems(c *call) (value, error) {
	pairs, err := c.wantArrayOf(0, jsontape.Array)
	if err != nil {
		return null, err
	}
	set := newMembers(len(pairs))
	for i, p := range pairs {
		if n := p.size(); n != 2 {
			return null, c.fail(CodeInvalidValue, "each element must be a pair of a name and a value, found %d elements at index %d", n, i)
		}
		key := p.index(0)
		if key.k != jsontape.String {
			return null, c.fail(CodeInvalidType, "each pair must begin with a string, found %s at index %d", withArticle(key.k), i)
		}
		set.put(key, p.index(1))
	}
	return newObject(set.list), nil
}

// callGroupBy makes groups in the order in which their names first come.
// Elements for which the expression is null belong to none.
func callGroupBy(c *call) (value, error) {
	if err := c.want(0, jsontape.Array); err != nil {
		return null, err
	}
	elems, err := c.elements(0)
	if err != nil {
		return null, err
	}
	set := newMembers(0)
	for i, e := range elems {
		key, err := c.ref(1, e)
		switch {
		case err != nil:
			return null, err
		case key.isNull():
			continue
		case key.k != jsontape.String:
			return null, c.fail(CodeInvalidType, "the expression must give a string, found %s at index %d", withArticle(key.k), i)
		}
		name := key.text()
		at := set.find(name)
		if at < 0 {
			at = len(set.list)
			set.add(key, name, newArray(nil))
		}
		group := set.list[at].val.built
		group.elems = append(group.elems, e)
	}
	return newObject(set.list), nil
}
