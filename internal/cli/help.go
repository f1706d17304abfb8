package cli

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The help topics are texts of their own, so that they read as texts.
var (
	//go:embed help/exit-codes.txt
	helpExitCodes string
	//go:embed help/rules.txt
	helpRules string
	//go:embed help/environment.txt
	helpEnvironment string
)

func helpTopics() []*cobra.Command {
	topic := func(name, short, text string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: text}
	}
	return []*cobra.Command{
		topic("rules", "The keys of a rules file, on one page", helpRules),
		topic("exit-codes", "What each exit status means", helpExitCodes),
		topic("environment", "Files and environment variables", helpEnvironment),
	}
}

// tidyHelp gives all commands one form of help. It is written here and not as a template, since cobra's templates
// link the reflection that keeps every method of the program.
func tidyHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeUsage(cmd.OutOrStderr(), cmd)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		long := cmd.Long
		if long == "" {
			long = cmd.Short
		}
		fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(long, "\n"))
		if !cmd.IsAdditionalHelpTopicCommand() {
			fmt.Fprintln(cmd.OutOrStdout())
			writeUsage(cmd.OutOrStdout(), cmd)
		}
	})
	each(root, func(cmd *cobra.Command) {
		cmd.DisableFlagsInUseLine = true
		cmd.InitDefaultHelpFlag()
		if help := cmd.Flags().Lookup("help"); help != nil {
			help.Usage = "show this help"
		}
	})
}

func each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, do)
	}
}

func writeUsage(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n  ")
	if cmd.HasAvailableSubCommands() {
		b.WriteString(cmd.CommandPath() + " COMMAND [ARG...]\n")
	} else {
		b.WriteString(cmd.UseLine() + "\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + strings.TrimRight(cmd.Example, "\n") + "\n")
	}
	writeCommands(&b, cmd)
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + strings.TrimRight(cmd.LocalFlags().FlagUsages(), " \n") + "\n")
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nFlags of every command:\n" + strings.TrimRight(cmd.InheritedFlags().FlagUsages(), " \n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCommands lists the commands of a group under its title, then those of none, then the topics.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(title string, wanted func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if !wanted(sub) {
				continue
			}
			if title != "" {
				b.WriteString("\n" + title + "\n")
				title = ""
			}
			fmt.Fprintf(b, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
	for _, group := range cmd.Groups() {
		list(group.Title, func(sub *cobra.Command) bool {
			return sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help")
		})
	}
	list("Commands:", func(sub *cobra.Command) bool { return sub.GroupID == "" && sub.IsAvailableCommand() })
	list("Topics (spillway help TOPIC):", func(sub *cobra.Command) bool { return sub.IsAdditionalHelpTopicCommand() })
}

// newHelp is the help command; unlike cobra's own it fails on a name that does not exist.
func newHelp(streams) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND or TOPIC]",
		Short:   "Show the help of a command, or a topic",
		GroupID: groupRest,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, sub := range cmd.Root().Commands() {
				if !sub.Hidden {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return needCommand(of, rest)
			}
			return of.Help()
		},
	}
}
