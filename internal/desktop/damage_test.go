package desktop

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWaitIdle(t *testing.T) {
	s := xvfb(t)
	d, programs := s.open(t), s.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	until := time.Now().Add(300 * time.Millisecond)
	go func() {
		for i := 0; time.Now().Before(until); i++ {
			paint(t, programs, uint32(i), 10, 10, 5, 5)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	time.Sleep(20 * time.Millisecond)
	if err := d.WaitIdle(ctx, image.Rect(500, 500, 600, 600), 50*time.Millisecond); err != nil || time.Now().After(until) {
		t.Errorf("elsewhere: %v", err)
	}
	if err := d.WaitIdle(ctx, image.Rectangle{}, 200*time.Millisecond); err != nil || time.Now().Before(until) {
		t.Errorf("everywhere: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.WaitIdle(short, image.Rectangle{}, time.Minute); !errors.Is(err, ErrTimeout) {
		t.Errorf("in vain: %v", err)
	}
}

func TestWaitPixels(t *testing.T) {
	s := xvfb(t)
	d, programs := s.open(t), s.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	area := image.Rect(100, 100, 200, 200)
	before, err := d.Screenshot(ctx, Shot{Area: area})
	if err != nil {
		t.Fatal(err)
	}
	later := func(f func()) { time.AfterFunc(100*time.Millisecond, f) }
	later(func() {
		paint(t, programs, 1, 300, 300, 5, 5) // elsewhere
		paint(t, programs, 0xff8000, 100, 100, 50, 50)
	})
	token, err := d.WaitPixels(ctx, Pixels{Area: area, NotToken: before.Token})
	if err != nil || token == before.Token {
		t.Fatalf("changed: %q %v", token, err)
	}
	later(func() { paint(t, programs, 0xff8000, 100, 100, 100, 100) })
	if _, err := d.WaitPixels(ctx, Pixels{Area: area, Colour: &color.RGBA{255, 128, 0, 255}}); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	defer func() { <-over }() // else its connection is closed before it has its answer
	later(func() {
		defer close(over)
		paint(t, programs, 0, 100, 100, 100, 100)
	})
	if _, err := d.WaitPixels(ctx, Pixels{Area: area, Token: before.Token}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WaitPixels(ctx, Pixels{Area: area}); err == nil {
		t.Error("no condition was good enough")
	}
}

func TestSetSize(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	for _, size := range [][2]int{{1280, 720}, {801, 601}, {1920, 1080}, {1280, 720}} {
		if err := d.SetSize(t.Context(), size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		p, err := d.Screenshot(t.Context(), Shot{Format: Raw})
		if err != nil || p.Width != size[0] || p.Height != size[1] {
			t.Errorf("%v: the screen is %dx%d: %v", size, p.Width, p.Height, err)
		}
	}
	for _, size := range [][2]int{{0, 0}, {3000, 2000}, {-1, 5}, {100000, 100}} {
		if err := d.SetSize(t.Context(), size[0], size[1]); err == nil || !strings.Contains(err.Error(), "1920x1080") {
			t.Errorf("%v: %v", size, err)
		}
		if w, h, err := d.Size(t.Context()); w != 1280 || h != 720 {
			t.Errorf("%v left %dx%d: %v", size, w, h, err)
		}
	}
}

func TestRecord(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal("ffmpeg is needed: install the package ffmpeg")
	}
	s := xvfb(t)
	d := s.open(t)
	if err := d.SetSize(t.Context(), 641, 361); err != nil {
		t.Fatal(err)
	}
	paint(t, d, 0xff0000, 0, 0, 1920, 1080)
	for _, name := range []string{"mp4", "webm", "mkv"} {
		file := filepath.Join(t.TempDir(), "video."+name)
		var cmd *exec.Cmd
		var raw bytes.Buffer
		const frame = 641 * 361 * 4
		for try := range 5 { // a busy machine has fewer
			raw.Reset()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(700*time.Millisecond, cancel)
			err := d.Frames(ctx, 10, &raw, func(w, h int) error {
				args, err := FFmpegArgs(w, h, 10, name)
				cmd = exec.Command(ffmpeg, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			n := raw.Len() / frame
			if raw.Len()%frame != 0 || n > 9 || n < 6 && try == 4 {
				t.Errorf("%d frames, %d bytes", n, raw.Len())
			}
			if n >= 6 {
				break
			}
		}
		cmd.Stdin = &raw
		video, err := cmd.Output()
		if err == nil {
			err = os.WriteFile(file, video, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(ffmpeg, "-loglevel", "error", "-i", "file:"+file, "-frames:v", "1", "-f", "image2pipe", "-c:v", "png", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if r, g, b, _ := m.At(10, 10).RGBA(); r>>8 < 240 || g>>8 > 20 || b>>8 > 20 || m.Bounds().Dx() != 642 {
			t.Errorf("%s: %v, colour %d %d %d", name, m.Bounds(), r>>8, g>>8, b>>8)
		}
	}
	if err := d.Frames(t.Context(), 0, nil, nil); err == nil {
		t.Error("no frames a second were good enough")
	}
}
