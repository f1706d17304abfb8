package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// peer is an upstream as one client has it.
type peer struct {
	c   *conn
	src *source

	mu      sync.Mutex
	line    line
	profile *profile      // nil: no handshake was made on the line
	trying  chan struct{} // closed when the try under way to open it is over; nil: none is
	err     error
	missed  bool // a list was made without it
	closed  bool
}

// profile is what an upstream said of itself in the handshake.
type profile struct {
	result   []byte
	caps     wire.Span
	revision string
}

func (p *profile) has(capability string) bool {
	return p != nil && wire.Member(p.result, p.caps, capability).Present()
}

// eraCodes are errors that a modern server answers initialize with.
var eraCodes = map[int]bool{httpmcp.CodeHeaderMismatch: true, httpmcp.CodeMissingCapability: true, httpmcp.CodeUnsupportedRevision: true, httpmcp.CodeMethodNotFound: true}

// profileOf reads the answer to a handshake.
func (s *source) profileOf(msg []byte, modern bool) (*profile, error) {
	m, err := wire.Scan(msg)
	if err != nil {
		return nil, err
	}
	if code, failed := httpmcp.ErrorCode(msg, m); failed {
		if modern || eraCodes[code] {
			return nil, &otherEra{server: s.cfg.Name, modern: modern}
		}
		return nil, fmt.Errorf("server %s refused the handshake: %s", s.cfg.Name, clip(text(msg, m.Error, "message"), 300))
	}
	if modern && !wire.Member(msg, m.Result, "supportedVersions").Present() {
		return nil, &otherEra{server: s.cfg.Name, modern: true}
	}
	p := &profile{result: append([]byte(nil), m.Result.Of(msg)...)}
	p.caps = wire.Member(p.result, whole(p.result), "capabilities")
	p.revision = text(p.result, whole(p.result), "protocolVersion")
	return p, nil
}

// dial opens the line without a handshake.
func (p *peer) dial() (line, error) {
	switch {
	case p.src.shared:
		return &trunkLine{t: p.src.trunk(p.c.modern), p: p}, nil
	case p.src.http != nil:
		return p.dialHTTP(), nil
	}
	return p.dialChild()
}

// open returns the line, which is ready for requests; it opens it where it is
// not.
func (p *peer) open(ctx context.Context) (line, *profile, error) {
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			return nil, nil, errStopped
		case p.line != nil && p.profile != nil && !p.src.shared:
			l, prof := p.line, p.profile
			p.mu.Unlock()
			return l, prof, nil
		case p.trying != nil:
			trying := p.trying
			p.mu.Unlock()
			select {
			case <-trying:
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
			p.mu.Lock()
			err := p.err
			p.mu.Unlock()
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		if p.src.shared {
			l := p.line
			if l == nil {
				l, _ = p.dial()
				p.line = l
			}
			p.mu.Unlock()
			prof, err := l.(*trunkLine).t.open(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			return l, prof, nil
		}
		if p.c.solo && p.c.modern && p.src.http != nil {
			// The client makes its own handshake, if any, and is answered by the
			// upstream itself; a legacy one shows by what it answers.
			if p.line == nil {
				p.line = p.dialHTTP()
			}
			l := p.line
			p.profile = new(profile)
			p.mu.Unlock()
			return l, new(profile), nil
		}
		if err := p.src.rests(); err != nil {
			p.mu.Unlock()
			return nil, nil, downFor(p.src.cfg.Name, err)
		}
		trying := make(chan struct{})
		p.trying = trying
		prior := p.line
		p.line = nil
		p.mu.Unlock()
		// The line outlives the request that opens it.
		p.c.g.tasks.Go(func() { p.try(trying, prior) })
	}
}

// try opens the line anew and makes the handshake.
func (p *peer) try(trying chan struct{}, prior line) {
	if prior != nil {
		p.c.g.tasks.Go(prior.close) // it may be waiting for this very try
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(p.c.ctx, p.src.g.opt.StartTime,
		fmt.Errorf("server %s did not answer the handshake within %v", p.src.cfg.Name, p.src.g.opt.StartTime))
	defer cancel()
	l, prof, err := p.handshake(ctx)
	p.mu.Lock()
	if p.closed && l != nil && err == nil {
		err = errStopped
	}
	if err == nil {
		p.line, p.profile = l, prof
	} else {
		p.line, p.profile = nil, nil
	}
	p.err = err
	p.trying = nil
	close(trying)
	p.mu.Unlock()
	switch {
	case err == nil:
		p.src.works()
		p.back(prof)
		return
	case l != nil:
		l.close()
	}
	if !errors.As(err, new(*otherEra)) && !errors.Is(err, errStopped) && p.c.ctx.Err() == nil {
		p.src.failed(err, time.Since(began))
	}
}

func (p *peer) handshake(ctx context.Context) (line, *profile, error) {
	if p.c.modern && p.src.http != nil {
		return p.discover(ctx)
	}
	l, err := p.dial()
	if err != nil {
		return nil, nil, err
	}
	method, params := "initialize", p.c.helloParams()
	if p.c.modern {
		method, params = "server/discover", p.src.g.modernParams(nil)
	}
	msg, _, err := p.c.callOn(ctx, p, l, method, params, nil)
	if err != nil {
		return l, nil, err
	}
	prof, err := p.src.profileOf(msg, p.c.modern)
	if err != nil {
		return l, nil, err
	}
	if !p.c.modern {
		hello := notification("notifications/initialized", nil)
		m, _ := wire.Scan(hello)
		l.send(outbound{ctx: p.c.ctx, msg: hello, m: m, header: p.c.opened})
	}
	return l, prof, nil
}

// discover asks a modern HTTP upstream what it is.
func (p *peer) discover(ctx context.Context) (line, *profile, error) {
	ask := request(string(ownID(p.src.g.lastID.Add(1))), "server/discover", p.src.g.modernParams(nil))
	era, msg, err := p.src.http.Probe(ctx, client.Outbound{Message: ask})
	if err != nil {
		return nil, nil, err
	}
	if era != client.Modern {
		return nil, nil, &otherEra{server: p.src.cfg.Name, modern: true}
	}
	prof, err := p.src.profileOf(msg, true)
	if err != nil {
		return nil, nil, err
	}
	return p.dialHTTP(), prof, nil
}

// What a server that ended owed an answer to.
const (
	inACall     = "while the call was in flight"
	beforeHello = "before it answered the handshake"
)

func whenOf(method string) string {
	if method == "initialize" || method == "server/discover" {
		return beforeHello
	}
	return inACall
}

// howEnded says why there is no answer, and when that was.
func howEnded(err error, server, when string) string {
	var exit *upstream.ExitError
	switch {
	case errors.As(err, &exit):
		why := exit.How() + " " + when
		if words := exit.LastWords; words != "" {
			why += "; its last words: " + strings.ToValidUTF8(words[max(0, len(words)-1000):], "")
		}
		return why
	case when == beforeHello:
		return "server " + server + " closed its output " + when
	}
	return err.Error() + " " + when
}

// lost notes that a child ended, and answers what it did not.
func (p *peer) lost(l line, err error, ran time.Duration) {
	p.mu.Lock()
	mine, closed := p.line == l, p.closed
	if mine {
		p.line, p.profile = nil, nil
	}
	p.mu.Unlock()
	if mine && !closed {
		p.src.failed(err, ran)
	}
	p.c.lostPeer(p, err)
}

// unreachable notes an error of the network, after which an upstream is left
// alone for a while only if it never answers.
func (p *peer) unreachable(err error, began time.Time) {
	var status *client.StatusError
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, client.ErrNoAnswer) || p.c.ctx.Err() != nil {
		return
	}
	p.src.g.opt.Log.Warn("upstream not reached", "server", p.src.cfg.Name, "err", err, "after", time.Since(began))
}

// back tells a client whose lists lack the upstream that they are old.
func (p *peer) back(prof *profile) {
	if !p.takeMissed() {
		return
	}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if prof.has(kind) {
			p.c.listChanged(kind)
		}
	}
}

func (p *peer) markMissed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missed = true
}

func (p *peer) takeMissed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.missed
	p.missed = false
	return was
}

// known returns the profile of the last handshake; nil if the upstream is not
// up.
func (p *peer) known() *profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.line.(*trunkLine); ok {
		l.t.mu.Lock()
		defer l.t.mu.Unlock()
		return l.t.profile
	}
	return p.profile
}

// current returns the line if it is open, whether ready or not.
func (p *peer) current() line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

func (p *peer) close() {
	p.mu.Lock()
	l := p.line
	p.closed = true
	p.mu.Unlock()
	if l != nil {
		l.close()
	}
}
