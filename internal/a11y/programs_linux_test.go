package a11y

import (
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
	d.show(b)
	if err := b.SetText(t.Context(), area.Ref, "grüße"); err != nil {
		t.Fatal(err)
	}
	save := d.wait(b, Query{Role: "menu item", Name: regexp.MustCompile("^Save$"), States: []string{"sensitive"}, Options: Options{Hidden: true}})
	if _, err := b.Invoke(t.Context(), save.Ref, ""); err != nil {
		t.Fatal(err)
	}
	d.saved(file, "grüße")
	start := time.Now()
	tree, err := b.Tree(t.Context(), Options{Hidden: true})
	t.Log(time.Since(start), err, tree.Apps[0].Nodes)
}

func TestQt(t *testing.T) {
	editor := program(t, "featherpad", "featherpad")
	d := newDesk(t)
	b := d.open()
	file := d.write("note.txt", []byte("before\n"))
	d.start(nil, editor, "--standalone", file)
	area := d.wait(b, Query{Role: "text", States: []string{"multi line", "showing"}})
	d.show(b)
	if err := b.SetText(t.Context(), area.Ref, "grüße"); err != nil {
		t.Fatal(err)
	}
	save := d.wait(b, Query{Role: "menu item", Name: regexp.MustCompile("^Save$"), Options: Options{Hidden: true}})
	if _, err := b.Invoke(t.Context(), save.Ref, ""); err != nil {
		t.Fatal(err)
	}
	d.saved(file, "grüße")
}
