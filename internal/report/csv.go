package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// WriteCSV writes one table of the report. The error says which tables there
// are.
func (r *Report) WriteCSV(w io.Writer, table string) error {
	var ids []string
	for _, t := range r.Tables() {
		if t.ID == table {
			return t.writeCSV(w)
		}
		ids = append(ids, t.ID)
	}
	return fmt.Errorf("table %q: this report has %s", table, strings.Join(ids, ", "))
}

func (t *Table) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	row := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		row[i] = column.Field
	}
	if err := c.Write(row); err != nil {
		return err
	}
	for _, cells := range t.Rows {
		for i, cell := range cells {
			row[i] = safe(cell.Plain, t.Columns[i].Text)
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// safe keeps a spreadsheet from taking a name for a formula.
func safe(s string, text bool) string {
	if text && s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
