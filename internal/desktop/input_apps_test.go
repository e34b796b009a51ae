package desktop

import (
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// appText is typed into real editors: Latin, Chinese, a character beyond the
// 16 bits of the basic plane, and an option that is text.
const appText = "--help Zürich 你好 🎉 Ω\n\t--help ünïcödé ≠ ASCII"

// focused waits until a window is there, and a little longer until it has the
// focus.
func focused(t *testing.T, d *Desktop, title string) {
	t.Helper()
	eventually(t, "the window "+title, func() error {
		list, err := d.Windows(t.Context(), false)
		for _, w := range list {
			if w.Active && strings.Contains(w.Title, title) {
				time.Sleep(500 * time.Millisecond)
				return nil
			}
		}
		return fmt.Errorf("not among %v, %v", list, err)
	})
}

func TestTextIntoEditors(t *testing.T) {
	for _, program := range []string{"mousepad", "featherpad"} {
		t.Run(program, func(t *testing.T) {
			s := xvfb(t)
			d := s.open(t)
			s.start(t, "openbox")
			file := filepath.Join(t.TempDir(), "text.txt")
			os.WriteFile(file, nil, 0o600)
			s.start(t, program, file)
			focused(t, d, "text.txt")
			var many strings.Builder
			for r := rune(0x4e00); r < 0x4e00+200; r++ {
				many.WriteRune(r)
			}
			want := appText + many.String()
			began := time.Now()
			if err := d.Input(t.Context(), Text{want}, Keys{Keys: "ctrl+s"}); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes in %v", len(want), time.Since(began))
			eventually(t, "saving", func() error {
				if b, err := os.ReadFile(file); err != nil || len(b) == 0 {
					return os.ErrNotExist
				}
				return nil
			})
			b, err := os.ReadFile(file)
			if got := strings.TrimRight(string(b), "\n"); err != nil || got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestTextIntoChromium(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	got := make(chan string, 1000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			got <- string(b)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<title>typing</title><body style="margin:0"><textarea id=a autofocus style="width:100vw;height:100vh"></textarea><script>
			a.onkeydown = e => { if (e.key == "Escape") fetch("/", {method: "POST", body: a.value}); if (e.key == "Tab") { e.preventDefault(); document.execCommand("insertText", false, "\t") } }
		</script>`)
	}))
	defer web.Close()
	s.start(t, "openbox")
	s.start(t, "chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--window-size=1000,700", "--window-position=0,0", web.URL)
	focused(t, d, "typing")
	for _, want := range []string{appText, strings.Repeat("Two thousand quick characters. ", 66)} {
		at := image.Point{400, 400}
		began := time.Now()
		if err := d.Input(t.Context(), Click{At: &at, Button: Left}, Keys{Keys: "ctrl+a Delete"}, Text{want}, Keys{Keys: "Escape"}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes in %v", len(want), time.Since(began))
		select {
		case text := <-got:
			t.Logf("read after %v", time.Since(began))
			if text != want {
				t.Errorf("%.200q, want %.200q", text, want)
			}
		case <-time.After(120 * time.Second):
			t.Fatal("the page has seen no Escape")
		}
	}
}
