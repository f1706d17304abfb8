package cli

import "github.com/spf13/cobra"

func configFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "config", "c", "", "configuration file; help environment says where it is looked for otherwise")
}

func rulesFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "rules", "", "rules file, in place of the configuration's")
}
