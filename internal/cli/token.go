package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/access"
	"github.com/spillway-mcp/spillway/internal/config"
)

type tokenOptions struct {
	files config.Flags
	json  bool
}

func newToken(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of spillway serve",
		Long: `Clients of spillway serve show a bearer token, and the name of the token is who
they are: what they stash, their sessions and their lines in the ledger are
kept under it. A token is shown once, when it is made; the file keeps a hash.`,
		GroupID: groupUse,
		Args:    argCount(0, -1),
		RunE:    needCommand,
	}
	cmd.AddCommand(newTokenAdd(s), newTokenList(s), newTokenRevoke(s))
	return cmd
}

func openTokens(f config.Flags) (*config.Config, *access.Store, error) {
	c, err := openConfig(f)
	if err != nil {
		return nil, nil, err
	}
	store, err := access.Open(c.Serve.Tokens)
	return c, store, err
}

func newTokenAdd(s streams) *cobra.Command {
	var o tokenOptions
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token and print it",
		Long: `Make a token for the caller NAME and print it on stdout, and on stderr what to
put into a client's configuration. It cannot be printed again.`,
		Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, store, err := openTokens(o.files)
			if err != nil {
				return err
			}
			secret, err := store.Add(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(s.Out, secret)
			fmt.Fprintf(s.Err, "spillway: in a client's configuration:\n%s", clientSnippet(scheme(c)+"://"+c.Serve.Listen+endpoint, secret))
			return nil
		},
	}
	configFlag(cmd, &o.files)
	return cmd
}

func newTokenList(s streams) *cobra.Command {
	var o tokenOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens by name",
		Args:  argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, store, err := openTokens(o.files)
			if err != nil {
				return err
			}
			all, err := store.List()
			if err != nil {
				return err
			}
			if o.json {
				if all == nil {
					all = []access.Token{}
				}
				return writeJSON(s.Out, all)
			}
			var b strings.Builder
			w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			for _, t := range all {
				used := "never used"
				if !t.LastUse.IsZero() {
					used = "last used " + t.LastUse.Format(time.DateOnly)
				}
				fmt.Fprintf(w, "%s\tmade %s\t%s\n", t.Name, t.Created.Format(time.DateOnly), used)
			}
			w.Flush()
			fmt.Fprint(s.Out, b.String())
			return nil
		},
	}
	configFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	return cmd
}

func newTokenRevoke(s streams) *cobra.Command {
	var o tokenOptions
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Remove a token: clients that show it are refused",
		Args:  argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, store, err := openTokens(o.files)
			if err != nil {
				return err
			}
			return store.Revoke(args[0])
		},
	}
	configFlag(cmd, &o.files)
	return cmd
}
