package desktop

import (
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"carrel/internal/picture"

	"github.com/jezek/xgb/xproto"
)

// busy is a display with text on it: two terminals full of it.
func busy(b *testing.B) (*server, *Desktop) {
	b.Helper()
	s := xvfb(b)
	d := s.open(b)
	text := "i=0; while [ $i -lt 120 ]; do i=$((i+1)); echo \"$i drwxr-xr-x 2 root root 4096 \\033[3$((i%8))mNov 22\\033[0m a name $((i*i*i)) and more of it\"; done; sleep 1000"
	s.start(b, "xterm", "-geometry", "150x75+0+0", "-e", "sh", "-c", text)
	s.start(b, "xterm", "-geometry", "120x60+950+20", "-e", "sh", "-c", text)
	eventually(b, "terminals", func() error {
		if list, err := d.Windows(b.Context(), false); err != nil || len(list) != 2 {
			return fmt.Errorf("%d windows: %v", len(list), err)
		}
		return nil
	})
	if err := d.WaitIdle(b.Context(), image.Rectangle{}, 500e6); err != nil {
		b.Fatal(err)
	}
	return s, d
}

// BenchmarkGrab is the raw picture of a screen, 1920x1080.
func BenchmarkGrab(b *testing.B) {
	d := xvfb(b).open(b)
	for b.Loop() {
		_, done, err := d.pixels(xproto.Drawable(d.root), 0, 0, 1920, 1080)
		if err != nil {
			b.Fatal(err)
		}
		done()
	}
}

func BenchmarkScreenshot(b *testing.B) {
	_, d := busy(b)
	same, err := d.Screenshot(b.Context(), Shot{})
	if err != nil {
		b.Fatal(err)
	}
	for name, shot := range map[string]Shot{
		"png":       {},
		"png-1280":  {MaxWidth: 1280},
		"jpeg":      {Format: JPEG},
		"jpeg-1280": {Format: JPEG, MaxWidth: 1280},
		"raw":       {Format: Raw},
		"unchanged": {Since: same.Token},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				p, err := d.Screenshot(b.Context(), shot)
				if err != nil {
					b.Fatal(err)
				}
				n = len(p.Data)
			}
			b.ReportMetric(float64(n), "bytes")
		})
	}
}

// BenchmarkOthers is what programs take for the same: with their start, as
// whoever calls them has it.
func BenchmarkOthers(b *testing.B) {
	s, _ := busy(b)
	file := filepath.Join(b.TempDir(), "shot.png")
	for _, c := range [][]string{{"import", "-window", "root", file}, {"scrot", "-o", file}} {
		b.Run(c[0], func(b *testing.B) {
			if _, err := exec.LookPath(c[0]); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				if out, err := s.command(b, c[0], c[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
			if i, err := os.Stat(file); err == nil {
				b.ReportMetric(float64(i.Size()), "bytes")
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	s := xvfb(b)
	for b.Loop() {
		d, err := Open(b.Context(), s.dial, s.cookie)
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
}

// BenchmarkWindows20 lists twenty windows under a window manager.
func BenchmarkWindows20(b *testing.B) {
	s := xvfb(b)
	d, programs := s.open(b), s.open(b)
	s.openbox(b, d)
	for i := range 20 {
		title(programs, window(b, programs, 0xff, image.Rect(10*i, 10*i, 400, 400)), "a window")
	}
	eventually(b, "20 windows", func() error {
		if list, err := d.Windows(b.Context(), false); err != nil || len(list) != 20 {
			return fmt.Errorf("%d windows: %v", len(list), err)
		}
		return nil
	})
	for b.Loop() {
		if _, err := d.Windows(b.Context(), false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPNG is the encoder alone, on text.
func BenchmarkPNG(b *testing.B) {
	_, d := busy(b)
	p, err := d.Screenshot(b.Context(), Shot{Format: Raw})
	if err != nil {
		b.Fatal(err)
	}
	f := picture.Frame{W: p.Width, H: p.Height, Pix: p.Data}
	for b.Loop() {
		io.Discard.Write(picture.PNG(f))
	}
}
