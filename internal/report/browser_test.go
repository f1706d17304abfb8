package report

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/rules"
)

// probe is run in the page and leaves what it finds in its title.
const probe = `<script>
const rgb = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
const lum = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const back = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.99) return c; } return rgb(getComputedStyle(document.documentElement).backgroundColor).length === 3 ? rgb(getComputedStyle(document.documentElement).backgroundColor) : [255, 255, 255]; };
const faint = [];
for (const e of document.body.querySelectorAll('*')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest('script,style,title,desc')) continue;
  const style = getComputedStyle(e);
  const [a, b] = [lum(rgb(e.closest('svg') ? style.fill : style.color)), lum(back(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) faint.push(e.tagName + ' ' + e.textContent.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
}
const table = document.querySelector('#t-sessions').parentElement;
const first = () => table.tBodies[0].rows[0].cells[2].dataset.v;
const button = table.tHead.rows[0].cells[2].querySelector('button');
button.click(); const most = Number(first()); button.click(); const least = Number(first());
document.title = JSON.stringify({
  over: document.documentElement.scrollWidth - document.documentElement.clientWidth, faint: faint.slice(0, 5), most, least, sort: button.parentElement.getAttribute('aria-sort'),
  unnamed: [...document.querySelectorAll('svg:not([aria-hidden])')].filter((e) => !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')).length,
  loose: [...document.querySelectorAll('table')].filter((t) => !t.caption || [...t.tHead.rows[0].cells].some((c) => c.scope !== 'col')).length,
  dark: matchMedia('(prefers-color-scheme: dark)').matches, width: innerWidth,
});
</script>`

// phone shows the page as wide as a phone does, and takes over what the probe finds.
const phone = `<!doctype html><title>waiting</title><style>body{margin:0}iframe{border:0;width:375px;height:12000px}</style>
<iframe src="/" onload="document.title = this.contentDocument.title"></iframe>`

// The page in a real browser: light and dark, wide and as narrow as a phone,
// nothing fetched, nothing too faint to read, tables that sort.
// SPILLWAY_TEST_SHOTS names a directory to leave pictures in.
func TestPageInABrowser(t *testing.T) {
	browser := os.Getenv("SPILLWAY_TEST_BROWSER")
	if browser == "" {
		t.Skip("needs a browser: set SPILLWAY_TEST_BROWSER to the path of Chromium to run")
	}
	set, err := rules.Load("../../rules/reviewed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build(append(sessions(t), "testdata/ledger.jsonl"), Options{Counter: counter(t, "o200k_base"), Replay: replayed(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/favicon.ico" { // the browser's own
			asked = append(asked, q.URL.Path)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if q.URL.Path == "/phone" { // narrower than a window can be made
			w.Write([]byte(phone))
			return
		}
		w.Write(bytes.Replace(page.Bytes(), []byte("</body>"), []byte(probe+"</body>"), 1))
	}))
	defer server.Close()
	for _, look := range []struct {
		name, path, window string
		dark               bool
	}{
		{"light", "/", "1200,9000", false}, {"dark", "/", "1200,9000", true},
		{"phone", "/phone", "500,12000", false}, {"phone-dark", "/phone", "500,12000", true},
	} {
		t.Run(look.name, func(t *testing.T) {
			asked = nil
			found := see(t, browser, server.URL+look.path, look.name, look.window, look.dark)
			if found.Over > 0 {
				t.Errorf("the page is %d pixels wider than the window of %d", found.Over, found.Width)
			}
			if len(found.Faint) > 0 {
				t.Errorf("too faint: %q", found.Faint)
			}
			if found.Dark != look.dark {
				t.Errorf("dark is %v", found.Dark)
			}
			if found.Unnamed > 0 || found.Loose > 0 {
				t.Errorf("%d pictures without a name, %d tables without caption or scope", found.Unnamed, found.Loose)
			}
			if found.Most <= found.Least || found.Sort != "ascending" {
				t.Errorf("sorted: %v first, then %v, %s", found.Most, found.Least, found.Sort)
			}
			if look.path == "/phone" && found.Width != 375 {
				t.Errorf("a phone of %d pixels", found.Width)
			}
			for _, path := range asked {
				if path != "/" && path != look.path {
					t.Errorf("the page fetches %s", path)
				}
			}
		})
	}
}

type seen struct {
	Over, Width, Unnamed, Loose int
	Faint                       []string
	Most, Least                 float64
	Sort                        string
	Dark                        bool
}

func see(t *testing.T, browser, url, name, window string, dark bool) (found seen) {
	t.Helper()
	args := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--window-size=" + window,
	}
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if dir := os.Getenv("SPILLWAY_TEST_SHOTS"); dir != "" {
		shot := append(args[:len(args):len(args)], "--screenshot="+filepath.Join(dir, name+".png"), url)
		if out, err := exec.CommandContext(ctx, browser, shot...).CombinedOutput(); err != nil {
			t.Errorf("screenshot: %v\n%s", err, out)
		}
	}
	out, err := exec.CommandContext(ctx, browser, append(args, "--dump-dom", url)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`<title>(\{.*?\})</title>`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the page's script has not run: %.300s", out)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &found); err != nil {
		t.Fatal(err)
	}
	return found
}
