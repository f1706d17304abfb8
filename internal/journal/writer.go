package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// request is one write that waits for the writer.
type request struct {
	ctx context.Context
	at  int64 // the time that it names; 0 is none
	do  func(context.Context, *sql.Conn) error
	err chan error
}

var errClosed = errors.New("journal is closed")

// do has the writer run f in a transaction, which it may share with others,
// and returns once it is durable or has failed. A context that ends while f
// waits takes it out of the queue; once begun, the answer is awaited, so that
// the caller knows what there is.
func (j *Embedded) do(ctx context.Context, f func(context.Context, *sql.Conn) error) error {
	return j.doAt(ctx, time.Time{}, f)
}

// doAt is do for a write that names a time.
func (j *Embedded) doAt(ctx context.Context, at time.Time, f func(context.Context, *sql.Conn) error) error {
	r := &request{ctx, nanos(at), f, make(chan error, 1)}
	select {
	case <-j.quit:
		return errClosed
	default:
	}
	select {
	case j.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-j.quit:
		return errClosed
	}
	select {
	case err := <-r.err:
		return err
	case <-j.done:
		select {
		case err := <-r.err:
			return err
		default:
			return errClosed
		}
	}
}

// maxBatch bounds how many writes share a commit.
const maxBatch = 128

// writer takes all writes that are queued, runs them in one transaction and
// commits once: while one commit waits for the disk the next batch gathers.
func (j *Embedded) writer() {
	defer close(j.done)
	batch := make([]*request, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case r := <-j.queue:
			batch = append(batch, r)
		case <-j.quit:
			select {
			case r := <-j.queue:
				batch = append(batch, r)
			default:
				return
			}
		}
	more:
		for len(batch) < maxBatch {
			select {
			case r := <-j.queue:
				batch = append(batch, r)
			default:
				break more
			}
		}
		j.commit(batch)
	}
}

// tellEvery is how much later than the last a time has to be to be written as
// the latest: not every commit needs another page for it.
const tellEvery = int64(time.Second)

// commit runs a batch. Where one of several fails, each is run alone, so that
// nobody gets another's error.
func (j *Embedded) commit(batch []*request) {
	live := batch[:0]
	for _, r := range batch {
		if err := r.ctx.Err(); err != nil {
			r.err <- err
			continue
		}
		live = append(live, r)
	}
	if len(live) == 0 {
		return
	}
	err := j.transact(live)
	if err == nil || len(live) == 1 {
		for _, r := range live {
			r.err <- err
		}
		return
	}
	for _, r := range live {
		r.err <- j.transact([]*request{r})
	}
}

func (j *Embedded) transact(batch []*request) error {
	if err := j.inPlace(); err != nil {
		return err
	}
	// Not the callers' contexts: one that ends must not undo another's write.
	ctx := context.Background()
	if _, err := j.stmts.begin.ExecContext(ctx); err != nil {
		return err
	}
	told := j.told
	for _, r := range batch {
		if err := r.do(ctx, j.conn); err != nil {
			j.rollback(ctx)
			return err
		}
		told = max(told, r.at)
	}
	if told >= j.told+tellEvery {
		if _, err := j.conn.ExecContext(ctx, `INSERT INTO clock (id, told) VALUES (1, ?)
			ON CONFLICT (id) DO UPDATE SET told = max(told, excluded.told)`, told); err != nil {
			j.rollback(ctx)
			return err
		}
	}
	if _, err := j.stmts.commit.ExecContext(ctx); err != nil {
		j.rollback(ctx)
		return err
	}
	if told >= j.told+tellEvery {
		j.told = told
	}
	j.commits.Add(1)
	return nil
}

// rollback ends a transaction that failed; some failures have ended it
// already, which is all the same.
func (j *Embedded) rollback(ctx context.Context) { _, _ = j.conn.ExecContext(ctx, `ROLLBACK`) }
