package cli

import "github.com/spf13/cobra"

func configFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "config", "c", "", "configuration `FILE`; see help environment")
}

func rulesFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "rules", "", "rules `FILE`, in place of the configuration's")
}
