package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/stash"
)

func newStash(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stash",
		Short: "Look at the kept originals, and get them back",
		Long: `The stash keeps the original of every result that was cut, until its time is
over or the quota needs the room. These commands see the originals of your own
sessions, as reducer_expand does.`,
		GroupID: groupRecords,
		Args:    cobra.ArbitraryArgs,
		RunE:    needCommand,
	}
	cmd.AddCommand(newStashList(s), newStashShow(s), newStashExpand(s), newStashGC(s))
	return cmd
}

// withStash opens the stash of the configuration for the time of do.
func withStash(s streams, f config.Flags, do func(*stash.Store) error) error {
	c, err := openConfig(f)
	if err != nil {
		return err
	}
	store, err := openStash(c, newLog(s.Err, slog.LevelInfo))
	if err != nil {
		return err
	}
	err = do(store)
	if closed := store.Close(); err == nil {
		err = closed
	}
	return err
}

// refError gives the two answers of a ref that leads nowhere a status of their own.
func refError(ref string, err error) error {
	var expired *stash.ExpiredError
	switch {
	case errors.As(err, &expired):
		return withStatus(exitNoRef, fmt.Errorf("ref %s has expired; it was a result of %s", ref, expired.Tool))
	case errors.Is(err, stash.ErrUnknown):
		return withStatus(exitNoRef, fmt.Errorf("unknown ref %q; spillway stash list shows those there are", ref))
	}
	return err
}

// stashEntry is one entry in stash list --json and stash show --json; its fields are promised in docs/json.md.
type stashEntry struct {
	Ref     string    `json:"ref"`
	Server  string    `json:"server"`
	Tool    string    `json:"tool"`
	Bytes   int64     `json:"bytes"`
	Stored  int64     `json:"stored"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Keep    string    `json:"keep"`
	Rows    string    `json:"rows"`
}

func entryOf(e stash.Entry) stashEntry {
	return stashEntry{e.Ref, e.Server, e.Tool, e.Bytes, e.Stored, e.Created.UTC(), e.Expires.UTC(), e.Keep, e.Rows}
}

type stashOptions struct {
	files config.Flags
	json  bool
}

func (o *stashOptions) flags(cmd *cobra.Command, json string) {
	configFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.json, "json", false, json)
}

func newStashList(s streams) *cobra.Command {
	var o stashOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your originals, the newest first",
		Args:  argCount(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStashList(cmd.Context(), s, o) },
	}
	o.flags(cmd, "print one JSON array")
	return cmd
}

func runStashList(ctx context.Context, s streams, o stashOptions) error {
	return withStash(s, o.files, func(store *stash.Store) error {
		entries, err := store.List(ctx, localCaller())
		if err != nil {
			return err
		}
		if o.json {
			list := make([]stashEntry, 0, len(entries))
			for _, e := range entries {
				list = append(list, entryOf(e))
			}
			return writeJSON(s.Out, list)
		}
		if len(entries) == 0 {
			fmt.Fprintln(s.Err, "spillway: the stash holds no originals of yours")
			return nil
		}
		w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "REF\tSERVER\tTOOL\tBYTES\tSTORED\tKEPT\tUNTIL")
		for _, e := range entries {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Ref, e.Server, e.Tool,
				grouped(e.Bytes), grouped(e.Stored), clock(e.Created), clock(e.Expires))
		}
		return w.Flush()
	})
}

// clock writes a time for people, in their zone.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func newStashShow(s streams) *cobra.Command {
	var o stashOptions
	cmd := &cobra.Command{
		Use:   "show REF",
		Short: "Say what is known of an original: whose result, how large, until when",
		Args:  argCount(1, 1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runStashShow(cmd.Context(), s, o, args[0]) },
	}
	o.flags(cmd, "print one JSON object")
	return cmd
}

func runStashShow(ctx context.Context, s streams, o stashOptions, ref string) error {
	return withStash(s, o.files, func(store *stash.Store) error {
		e, _, err := store.Get(ctx, localCaller(), ref)
		if err != nil {
			return refError(ref, err)
		}
		if o.json {
			return writeJSON(s.Out, entryOf(e))
		}
		return writeEntry(s.Out, e)
	})
}

func writeEntry(w io.Writer, e stash.Entry) error {
	lines := []string{
		"ref      " + e.Ref,
		"result   " + e.Server + "/" + e.Tool,
		"size     " + grouped(e.Bytes) + " bytes, " + grouped(e.Stored) + " as stored",
		"kept     " + clock(e.Created),
		"until    " + clock(e.Expires),
	}
	if e.Keep != "" {
		lines = append(lines, "keep     "+e.Keep)
	}
	if e.Rows != "" {
		lines = append(lines, "rows     "+e.Rows)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

func newStashGC(s streams) *cobra.Command {
	var o stashOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Clean up now: what is expired, over the quota, or left by a crash",
		Long: `Remove what is expired, over the quota, or left behind by a crash. Running
sessions do this by themselves; nobody has to. It may run beside them.`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStashGC(cmd.Context(), s, o) },
	}
	o.flags(cmd, "print one JSON object")
	return cmd
}

func runStashGC(ctx context.Context, s streams, o stashOptions) error {
	return withStash(s, o.files, func(store *stash.Store) error {
		r, err := store.GC(ctx)
		if err != nil {
			return err
		}
		if o.json {
			return writeJSON(s.Out, r)
		}
		_, err = fmt.Fprintf(s.Out, "removed %s expired and %s over the quota, %s files of a crash; %s bytes freed\n",
			grouped(r.Expired), grouped(r.Evicted), grouped(r.Lost+r.Orphans+r.Temps), grouped(r.Freed))
		return err
	})
}
