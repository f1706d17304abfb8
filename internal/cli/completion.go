package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `Print a script that completes commands and flags. SHELL is bash, zsh, fish or
powershell.`,
		Example: `  bash        source <(spillway completion bash)
  zsh         spillway completion zsh > "${fpath[1]}/_spillway"
  fish        spillway completion fish > ~/.config/fish/completions/spillway.fish
  powershell  spillway completion powershell | Out-String | Invoke-Expression`,
		GroupID:   groupRest,
		ValidArgs: shells,
		Args:      argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompletion(s.Out, cmd.Root(), args[0])
		},
	}
}

// completeWith offers the values of a flag to a shell.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// completeServers offers the servers that the rules name as the first argument.
func completeServers(files *config.Flags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		set, err := openRules(*files)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return set.Servers(), cobra.ShellCompDirectiveNoFileComp
	}
}

func runCompletion(w io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return usageError("shell %q: one of %s is allowed", shell, strings.Join(shells, ", "))
}
