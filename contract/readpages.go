package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// fetched is a page, or why there is none.
type fetched struct {
	body            []byte
	attempts        int
	reason, message string
}

// fetch gets the page at a cursor, with the retries that are declared; before
// is how many pages there were before it. It changes nothing of r: several may
// run at once.
func (r *reading) fetch(ctx context.Context, cursor *string, before int) (f fetched) {
	at := before + 1
	stop := func(reason, format string, args ...any) fetched {
		f.reason, f.message = reason, fmt.Sprintf(format, args...)
		return f
	}
	retry := r.def.spec.Retry
	for attempt := 1; ; attempt++ {
		if e := r.c.authorize(ctx, Access{Action: ActionPage, Caller: r.in.Caller, Operation: r.def.ID(), Effects: Reads,
			Key: r.in.Key, Target: r.in.Target, Params: r.in.Params}); e != nil {
			return stop(ReasonAccessLost, "access was lost before page %d", at)
		}
		in := r.in
		in.Cursor, in.Page, in.Attempt = cursor, before, attempt
		f.attempts++
		page, err := r.def.spec.Read.Fetch(ctx, &in)
		if err == nil {
			f.body = page
			return f
		}
		why := ClassifyError(err)
		if ctx.Err() == nil && attempt <= retry.Max && retry.allows(why.Code) && pause(ctx, retry.wait(attempt)) {
			continue
		}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return stop(ReasonDeadline, "the deadline of %s passed at page %d", r.def.spec.Bounds.Deadline, at)
		case ctx.Err() != nil:
			return stop(ReasonCancelled, "cancelled at page %d", at)
		case why.Denied:
			return stop(ReasonAccessLost, "the upstream refused page %d: %s", at, failureText(why))
		}
		return stop(ReasonUpstreamError, "page %d could not be read: %s", at, failureText(why))
	}
}

// pages hands out a read's pages in their order. Where they are numbered and
// the definition says so, those to come are fetched meanwhile, side by side
// (C-07): never more than the call may read. How many grows from one, so that a
// short collection is not asked for much that it does not have.
type pages struct {
	r       *reading
	ctx     context.Context
	cancel  context.CancelFunc
	width   int // how many may be under way
	most    int
	budget  int // pages that may still be begun
	began   int // number of the next page to begin, from 0
	waiting []chan fetched
	running sync.WaitGroup
}

func (r *reading) pages(ctx context.Context) *pages {
	p := &pages{r: r, width: 1, most: max(1, r.def.spec.Read.Concurrency), budget: r.budget.pages, began: r.st.Pages}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// next returns the page at the read's cursor.
func (p *pages) next() fetched {
	if p.most == 1 {
		return p.r.fetch(p.ctx, p.r.st.Cursor, p.r.st.Pages)
	}
	for len(p.waiting) < p.width && p.budget > 0 {
		p.begin()
	}
	p.width = min(2*p.width, p.most)
	first := <-p.waiting[0]
	p.waiting = p.waiting[1:]
	return first
}

func (p *pages) begin() {
	page, cursor := p.began, p.r.st.Cursor
	if page != p.r.st.Pages {
		number := fmt.Sprint(page + 1)
		cursor = &number
	}
	p.began++
	p.budget--
	got := make(chan fetched, 1)
	p.waiting = append(p.waiting, got)
	p.running.Go(func() { got <- p.r.fetch(p.ctx, cursor, page) })
}

// close ends what is under way for pages that nobody needs any more.
func (p *pages) close() {
	p.cancel()
	p.running.Wait()
}
