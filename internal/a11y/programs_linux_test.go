package a11y

import (
	"errors"
	"regexp"
	"testing"
	"time"
)

func TestGTK(t *testing.T) {
	editor := program(t, "mousepad", "mousepad")
	d := newDesk(t)
	b := d.open()
	file := d.write("note.txt", []byte("before\n"))
	d.start(nil, editor, "--disable-server", file)
	area := d.wait(b, Query{Role: "text", States: []string{"multi line", "showing"}})
	if err := b.SetText(t.Context(), area.Ref, "grüße"); err != nil {
		t.Fatal(err)
	}
	if text, n, err := b.Text(t.Context(), area.Ref, 0, 100); text != "grüße" || n != 5 || err != nil {
		t.Errorf("the widget has %q of %d characters, %v", text, n, err)
	}
	save := d.wait(b, Query{Role: "menu item", Name: regexp.MustCompile("^Save$"), States: []string{"sensitive"}, Options: Options{Hidden: true}})
	if _, err := b.Invoke(t.Context(), save.Ref, ""); err != nil {
		t.Fatal(err)
	}
	d.saved(file, "grüße")
	start := time.Now()
	tree, err := b.Tree(t.Context(), Options{Hidden: true})
	if err != nil || tree.Apps[0].Problem != "" {
		t.Fatal(err, tree.Apps[0].Problem)
	}
	t.Logf("%d nodes in %v", tree.Apps[0].Nodes, time.Since(start))
}

func TestQt(t *testing.T) {
	editor := program(t, "featherpad", "featherpad")
	d := newDesk(t)
	b := d.open()
	file := d.write("note.txt", []byte("before\n"))
	d.start(nil, editor, "--standalone", file)
	area := d.wait(b, Query{Role: "text", States: []string{"multi line", "showing"}})
	if err := b.SetText(t.Context(), area.Ref, "grüße"); err != nil {
		t.Fatal(err)
	}
	if text, n, err := b.Text(t.Context(), area.Ref, 0, 100); text != "grüße" || n != 5 || err != nil {
		t.Errorf("the widget has %q of %d characters, %v", text, n, err)
	}
	save := d.wait(b, Query{Role: "menu item", Name: regexp.MustCompile("^Save$"), Options: Options{Hidden: true}})
	if _, err := b.Invoke(t.Context(), save.Ref, ""); err != nil {
		t.Fatal(err)
	}
	d.saved(file, "grüße")
}

const page = `<!DOCTYPE html><title>before</title><h1>A page</h1>
<textarea aria-label="Letter">old</textarea>
<input type="range" aria-label="Volume" min="0" max="10" value="3">
<input type="password" aria-label="Secret" value="hunter2">
<button onclick="document.title = document.querySelector('textarea').value + ' ' + document.querySelector('input').value">Send</button>
<ul id="list"></ul><div style="height:3000px"></div><button>Far below</button>
<script>for (let i = 0; i < 500; i++) { let e = document.createElement('li'); e.textContent = 'item ' + i; document.getElementById('list').append(e) }</script>`

func TestChromium(t *testing.T) {
	browser := program(t, "chromium", "chromium")
	d := newDesk(t)
	b := d.open()
	file := d.write("page.html", []byte(page))
	d.start(nil, browser, "--no-sandbox", "--force-renderer-accessibility", "--user-data-dir="+d.dir+"/profile",
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "file://"+file)
	area := d.wait(b, Query{Name: regexp.MustCompile("^Letter$")})
	if err := b.SetText(t.Context(), area.Ref, "new"); !errors.Is(err, ErrNotEditable) {
		t.Errorf("setting the text of a page's field: %v, want %v", err, ErrNotEditable)
	}
	if err := errors.Join(b.Focus(t.Context(), area.Ref), b.Select(t.Context(), area.Ref, 0, -1)); err != nil {
		t.Error(err)
	}
	d.wait(b, Query{Name: regexp.MustCompile("^Letter$"), States: []string{"focused"}})
	if text, from, to, err := b.Selection(t.Context(), area.Ref); text != "old" || from != 0 || to != 3 || err != nil {
		t.Errorf("selected is %q from %d to %d, %v", text, from, to, err)
	}
	volume := d.wait(b, Query{Role: "slider", Name: regexp.MustCompile("^Volume$")})
	if volume.Value == nil || volume.Value.Current != 3 || volume.Value.Max != 10 {
		t.Errorf("the slider has the value %+v, want 3 of 10", volume.Value)
	}
	if _, err := b.SetValue(t.Context(), volume.Ref, 7); err != nil {
		t.Error(err)
	}
	send := d.wait(b, Query{Role: "push button", Name: regexp.MustCompile("^Send$")})
	if _, err := b.Invoke(t.Context(), send.Ref, ""); err != nil {
		t.Fatal(err)
	}
	d.wait(b, Query{Role: "frame", Name: regexp.MustCompile("^old 7")})
	far := d.wait(b, Query{Role: "push button", Name: regexp.MustCompile("^Far below$"), States: []string{"!showing"}})
	if err := b.ScrollTo(t.Context(), far.Ref); err != nil {
		t.Error(err)
	}
	d.wait(b, Query{Role: "push button", Name: regexp.MustCompile("^Far below$"), States: []string{"showing"}, Within: &Rect{0, 0, 1280, 800}})
	start := time.Now()
	tree, err := b.Tree(t.Context(), Options{})
	if err != nil || tree.Apps[0].Problem != "" {
		t.Fatal(err, tree.Apps[0].Problem)
	}
	t.Logf("%d nodes in %v", tree.Apps[0].Nodes, time.Since(start))
	for n := range tree.Apps[0].All {
		if n.Text == "hunter2" {
			t.Errorf("the tree tells a password: %v", n)
		}
	}
}
