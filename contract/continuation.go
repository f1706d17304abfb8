package contract

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// continuation is what a sealed continuation holds (C-05). It grants nothing:
// whoever presents it is authorized anew.
type continuation struct {
	Operation  string          `json:"op"` // name@major.minor
	Caller     string          `json:"caller"`
	ParamsHash string          `json:"ph"`
	Params     json.RawMessage `json:"params"`
	Target     string          `json:"target,omitempty"`
	ID         string          `json:"id"` // the read's operation id
	Expires    time.Time       `json:"exp"`
	Examined   int             `json:"examined"`
	State      *readState      `json:"state,omitempty"`
	Parcel     string          `json:"parcel,omitempty"` // where State is, if it is long
}

const (
	continuationPrefix  = "c1_"
	purposeContinuation = "continuation v1"
	purposeParcel       = "continuation state v1"
	inlineState         = 4 << 10   // bytes of state that travel in the token
	inlineWithoutStore  = 256 << 10 // where the Store cannot take them
)

// seal makes the token, or "" where none can be honoured.
func (c *Client) sealContinuation(ctx context.Context, k *continuation) string {
	state := encode(k.State)
	if len(state) > inlineState {
		b := make([]byte, 16)
		_, _ = rand.Read(b) // never fails
		id := "cont_" + hex.EncodeToString(b)
		err := c.opt.Store.PutParcel(ctx, Parcel{ID: id, Caller: k.Caller, Data: c.opt.Sealer.Seal(purposeParcel+id, state), Expires: k.Expires})
		if err == nil {
			k.Parcel, k.State = id, nil
		} else if len(state) > inlineWithoutStore {
			c.opt.Log.Warn("continuation not kept", "operation", k.Operation, "operationId", k.ID, "err", err)
			return ""
		}
	}
	sealed := c.opt.Sealer.Seal(purposeContinuation, encode(k))
	return continuationPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// decodeContinuation authenticates a token; it decides nothing else.
func (s *Sealer) decodeContinuation(token string) (*continuation, error) {
	body, ok := strings.CutPrefix(token, continuationPrefix)
	if !ok {
		return nil, errSeal
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, errSeal
	}
	raw, err := s.Open(purposeContinuation, sealed)
	if err != nil {
		return nil, err
	}
	k := &continuation{}
	if err := json.Unmarshal(raw, k); err != nil {
		return nil, errSeal
	}
	return k, nil
}

// openContinuation checks a token against who presents it and for what: each
// mismatch has its own reason. def and params may be nil, for what the token
// says.
func (c *Client) openContinuation(ctx context.Context, token, caller string, def *Definition, paramsHash string) (*continuation, *Error) {
	bad := func(reason, format string, args ...any) *Error {
		kind := ErrContinuation
		return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	k, err := c.opt.Sealer.decodeContinuation(token)
	if err != nil {
		return nil, bad(ReasonContinuation, "this is no continuation of ours, or it was changed")
	}
	if k.Caller != caller {
		return nil, bad(ReasonContinuationCaller, "this continuation was given to another caller")
	}
	said := fmt.Sprintf("it stands for %s after %d records examined", k.Operation, k.Examined)
	if !k.Expires.After(c.now()) {
		e := bad(ReasonContinuationExpired, "this continuation expired at %s; %s, with the parameters %s",
			k.Expires.Format(time.RFC3339), said, k.Params)
		e.Hint = "start the read anew"
		return nil, e
	}
	if def != nil && k.Operation != def.ID() {
		e := bad(ReasonContinuationVersion, "this continuation is not of %s; %s", def.ID(), said)
		e.Hint = "start the read anew"
		return nil, e
	}
	if paramsHash != "" && k.ParamsHash != paramsHash {
		e := bad(ReasonContinuationParams, "the parameters are not those of this continuation; %s", said)
		e.Hint = "continue with the same parameters, or start a new read"
		return nil, e
	}
	if k.Parcel != "" {
		p, err := c.opt.Store.GetParcel(ctx, k.Parcel)
		if err != nil {
			return nil, bad(ReasonContinuationExpired, "the state of this continuation is no longer kept; %s", said)
		}
		raw, err := c.opt.Sealer.Open(purposeParcel+k.Parcel, p.Data)
		if err != nil {
			return nil, bad(ReasonContinuation, "the state of this continuation was changed")
		}
		k.State = &readState{}
		if err := json.Unmarshal(raw, k.State); err != nil {
			return nil, bad(ReasonContinuation, "the state of this continuation cannot be read")
		}
	}
	if k.State == nil {
		return nil, bad(ReasonContinuation, "this continuation holds no state")
	}
	return k, nil
}
