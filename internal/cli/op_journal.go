package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/contract"
)

func newOpJournal(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Look at the records of mutations, and sweep old ones",
		Args:  cobra.ArbitraryArgs,
		RunE:  needCommand,
	}
	cmd.AddCommand(newOpJournalList(s), newOpJournalShow(s), newOpJournalSweep(s))
	return cmd
}

// opRecord is one entry of op journal list --json and op journal show --json;
// its fields are promised in docs/json.md. It holds no parameters.
type opRecord struct {
	ID        string         `json:"id"` // "" of a tombstone
	IDHash    string         `json:"id_hash"`
	Operation string         `json:"operation"`
	Digest    string         `json:"digest"`
	Target    string         `json:"target"`
	State     contract.State `json:"state"`
	Reason    string         `json:"reason"`
	Attempts  int            `json:"attempts"`
	Created   time.Time      `json:"created"`
	Updated   time.Time      `json:"updated"`
	Completed *time.Time     `json:"completed"`
	Expires   *time.Time     `json:"expires"`
	Tombstone bool           `json:"tombstone"`
	Steps     []opStep       `json:"steps"`
	Notes     []opNote       `json:"notes"`
}

type opStep struct {
	Step     string              `json:"step"`
	Item     string              `json:"item"`
	Status   contract.StepStatus `json:"status"`
	Reason   string              `json:"reason"`
	Attempts int                 `json:"attempts"`
}

type opNote struct {
	At  time.Time `json:"at"`
	Who string    `json:"who"`
	Did string    `json:"did"`
	Why string    `json:"why"`
}

func recordOf(r *contract.Record) opRecord {
	out := opRecord{
		ID: r.Key, IDHash: r.IDHash, Operation: r.Operation + "@" + r.Version, Digest: r.Digest, Target: r.Target,
		State: r.State, Reason: r.Reason, Attempts: r.Attempts, Created: r.CreatedAt, Updated: r.UpdatedAt,
		Completed: momentOf(r.CompletedAt), Expires: momentOf(r.Expires), Tombstone: r.Tombstone,
		Steps: make([]opStep, 0, len(r.Steps)), Notes: make([]opNote, 0, len(r.Notes)),
	}
	for _, s := range r.Steps {
		out.Steps = append(out.Steps, opStep{s.Step, s.Item, s.Status, s.Reason, s.Attempts})
	}
	for _, n := range r.Notes {
		out.Notes = append(out.Notes, opNote(n))
	}
	return out
}

func momentOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func newOpJournalList(s streams) *cobra.Command {
	var o opOptions
	var by callerOption
	var states []string
	var operation string
	var tombstones bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your operations, the newest last",
		Long: `List your operations, the newest last. A state is pending, unknown, completed,
rejected, partial or absent; absent is what was proven not to have happened.`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := contract.Filter{Operation: operation, Tombstones: tombstones, Limit: limit}
			for _, st := range states {
				f.States = append(f.States, contract.State(st))
			}
			return withJournal(cmd.Context(), s, o, func(ctx context.Context, ops *operations) error {
				records, err := ops.client.Records(ctx, by.caller, f)
				if err != nil {
					return opError(err)
				}
				return printRecords(s, o.json, records)
			})
		},
	}
	o.flags(cmd, "print one JSON array")
	by.callerFlag(cmd)
	cmd.Flags().StringVar(&operation, "operation", "", "only those of the operation `NAME`")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only those in a `STATE`, such as unknown")
	cmd.Flags().BoolVar(&tombstones, "tombstones", false, "list what is past retention too")
	cmd.Flags().IntVar(&limit, "limit", 1000, "at most `N` of them")
	return cmd
}

func printRecords(s streams, json bool, records []*contract.Record) error {
	if json {
		list := make([]opRecord, 0, len(records))
		for _, r := range records {
			list = append(list, recordOf(r))
		}
		return writeJSON(s.Out, list)
	}
	if len(records) == 0 {
		fmt.Fprintln(s.Err, "spillway: the journal holds no operations of yours")
		return nil
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tOPERATION\tSTATE\tREASON\tCREATED")
	for _, r := range records {
		id := r.Key
		if r.Tombstone {
			id = "(" + r.IDHash[:min(12, len(r.IDHash))] + ")"
		}
		fmt.Fprintf(w, "%s\t%s@%s\t%s\t%s\t%s\n", id, r.Operation, r.Version, r.State, r.Reason, clock(r.CreatedAt))
	}
	return w.Flush()
}

func newOpJournalShow(s streams) *cobra.Command {
	var o opRefOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Say what is recorded of an operation: its steps, and who resolved it",
		Args:  argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJournal(cmd.Context(), s, o.opOptions, func(ctx context.Context, ops *operations) error {
				records, err := ops.client.Records(ctx, o.caller, contract.Filter{Operation: o.operation, Key: args[0]})
				if err != nil {
					return opError(err)
				}
				if len(records) == 0 {
					return withStatus(contract.ExitRejected, fmt.Errorf("no operation of yours has the id %q: not found", args[0]))
				}
				if o.json {
					return writeJSON(s.Out, recordOf(records[0]))
				}
				return writeRecord(s, recordOf(records[0]))
			})
		},
	}
	o.flags(cmd, "print one JSON object")
	o.callerFlag(cmd)
	cmd.Flags().StringVar(&o.operation, "operation", "", "`NAME` of the operation, where the id was used for several")
	return cmd
}

func writeRecord(s streams, r opRecord) error {
	var b strings.Builder
	line := func(name, format string, args ...any) { writeField(&b, name, fmt.Sprintf(format, args...)) }
	line("id", "%s", r.ID)
	line("operation", "%s", r.Operation)
	line("target", "%s", r.Target)
	state := string(r.State)
	if r.Reason != "" {
		state += ", " + r.Reason
	}
	line("state", "%s", state)
	line("created", "%s", clock(r.Created))
	if r.Completed != nil {
		line("completed", "%s", clock(*r.Completed))
	}
	if r.Expires != nil {
		line("expires", "%s", clock(*r.Expires))
	}
	for _, st := range r.Steps {
		name := st.Step
		if st.Item != "" {
			name += "[" + st.Item + "]"
		}
		line("step", "%s: %s, %s", name, st.Status, several(st.Attempts, "attempt"))
	}
	for _, n := range r.Notes {
		line("note", "%s %s %s: %s", clock(n.At), n.Who, n.Did, n.Why)
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}

func newOpJournalSweep(s streams) *cobra.Command {
	var o opOptions
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Turn records past retention into tombstones, and drop old tombstones",
		Long: `Turn records past retention into tombstones, and drop tombstones after a year.
What is pending or unknown stays, however old it is.`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withJournal(cmd.Context(), s, o, func(ctx context.Context, ops *operations) error {
				swept, err := ops.client.Sweep(ctx)
				if err != nil {
					return opError(err)
				}
				if o.json {
					return writeJSON(s.Out, opSwept(swept))
				}
				_, err = fmt.Fprintf(s.Out, "%s past retention; removed %s and %s\n",
					several(swept.Tombstoned, "record"), several(swept.Removed, "tombstone"), several(swept.Parcels, "prepared call"))
				return err
			})
		},
	}
	o.flags(cmd, "print one JSON object")
	return cmd
}

// opSwept is op journal sweep --json; its fields are promised in docs/json.md.
type opSwept struct {
	Tombstoned int `json:"tombstoned"`
	Removed    int `json:"removed"`
	Parcels    int `json:"parcels"`
}
