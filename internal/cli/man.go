package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan(streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages to a directory",
		Long: `Write one manual page a command to DIR, which is made where it is missing.

The pages carry the date of the commit this program was built from, or
SOURCE_DATE_EPOCH where that is set, so that the same build writes the same
bytes.`,
		Example: "  spillway man ~/.local/share/man/man1",
		GroupID: groupRest,
		Args:    argCount(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runMan(cmd.Root(), args[0]) },
	}
}

func runMan(root *cobra.Command, dir string) error {
	date, err := buildDate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	header := &doc.GenManHeader{
		Title: "SPILLWAY", Section: "1", Date: &date,
		Source: "spillway " + thisBuild().Version, Manual: "Spillway Manual",
	}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	for _, topic := range root.Commands() {
		if !topic.IsAdditionalHelpTopicCommand() {
			continue
		}
		file := filepath.Join(dir, "spillway-"+topic.Name()+".1")
		if err := os.WriteFile(file, topicPage(topic, header), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// topicPage is the manual page of a help topic, whose text keeps its lines.
func topicPage(topic *cobra.Command, h *doc.GenManHeader) []byte {
	escape := strings.NewReplacer(`\`, `\e`, "-", `\-`)
	page := fmt.Appendf(nil, ".TH %q %q %q %q %q\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", h.Title, h.Section,
		h.Date.Format("Jan 2006"), h.Source, h.Manual, escape.Replace("spillway-"+topic.Name()), escape.Replace(topic.Short))
	for line := range strings.Lines(topic.Long) {
		page = append(page, `\&`+escape.Replace(line)...) // a dot or a quote that starts a line would be a request
	}
	return append(page, ".fi\n.SH SEE ALSO\n\\fBspillway(1)\\fP\n"...)
}

// buildDate is the date that generated files carry: never today's.
func buildDate() (time.Time, error) {
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	if date, err := time.Parse(time.RFC3339, thisBuild().Time); err == nil {
		return date, nil
	}
	return time.Unix(0, 0).UTC(), nil
}
