package desktop

import (
	"image"
	"strings"
	"testing"
)

// BenchmarkClick is one click as a batch of its own.
func BenchmarkClick(b *testing.B) {
	d := xvfb(b).open(b)
	at := image.Pt(100, 100)
	for b.Loop() {
		if err := d.Input(b.Context(), Click{At: &at, Button: Left}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkType types a thousand characters.
func BenchmarkType(b *testing.B) {
	d := xvfb(b).open(b)
	text := strings.Repeat("The quick brown fox ", 50)
	for b.Loop() {
		if err := d.Input(b.Context(), Text{text}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkXdotool does both with a program for each.
func BenchmarkXdotool(b *testing.B) {
	s := xvfb(b)
	b.Run("click", func(b *testing.B) {
		for b.Loop() {
			s.tool(b, "xdotool", "mousemove", "100", "100", "click", "1")
		}
	})
	b.Run("type", func(b *testing.B) {
		text := strings.Repeat("The quick brown fox ", 50)
		for b.Loop() {
			s.tool(b, "xdotool", "type", "--delay", "0", "--", text)
		}
	})
}
