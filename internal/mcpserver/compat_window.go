package mcpserver

import (
	"context"
	"regexp"

	"carrel/internal/api"
)

// theirWindow is what their tools for windows take.
type theirWindow struct {
	target
	X      int  `json:"x,omitempty"`
	Y      int  `json:"y,omitempty"`
	Width  int  `json:"width,omitempty"`
	Height int  `json:"height,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// shotTarget is the window of a picture.
type shotTarget struct {
	target
	Output string `json:"output_path,omitempty" jsonschema:"no effect here"`
}

var windowKinds = []struct {
	name, do string
	takes    []string
	by       []string // how the window is named
}{
	{"focus_window", api.WindowFocus, nil, []string{"window_id"}},
	{"focus_matching_window", api.WindowFocus, nil, nil},
	{"close_window", api.WindowClose, []string{"dry_run?"}, []string{"window_id"}},
	{"close_matching_window", api.WindowClose, []string{"dry_run?"}, nil},
	{"move_window", api.WindowMove, []string{"x", "y"}, nil},
	{"resize_window", api.WindowResize, []string{"width", "height"}, nil},
	{"raise_window", api.WindowRaise, nil, nil},
	{"minimize_window", api.WindowMinimise, nil, nil},
	{"show_window", api.WindowShow, nil, nil},
}

func compatWindows() []Tool {
	var list []Tool
	for _, k := range windowKinds {
		t := Tool{Name: "workspace_" + k.name, Set: setCompat, About: "window: " + k.do + ".", Effect: Acts, Control: WhenActive}
		if k.do == api.WindowClose {
			t.Effect, t.Control = Destroys, OrDryRun
		}
		takes := append([]string{"id?"}, k.takes...)
		if takes = append(takes, k.by...); k.by == nil {
			for _, key := range targetKeys {
				takes = append(takes, key+"?")
			}
		}
		list = append(list, narrowed(define(t, func(ctx context.Context, c *call, in theirWindow) (doneOut, error) {
			e, err := c.desk(ctx, in.ID)
			if err != nil {
				return doneOut{}, err
			}
			w, err := c.window(ctx, e, in.target)
			if err != nil {
				return doneOut{}, err
			}
			to := [2]int{in.X, in.Y}
			if k.do == api.WindowResize {
				to = [2]int{in.Width, in.Height}
			}
			return changeWindow(ctx, c, windowIn{Named: Named{in.ID}, Window: w.ID, Do: k.do, To: &to, DryRun: in.DryRun})
		}), takes))
	}
	look := define(Tool{Name: "workspace_active_window", Set: setCompat, About: "The window that has the keyboard.", Effect: Looks, Control: Observes}, func(ctx context.Context, c *call, in target) (windowsOut, error) {
		out, err := listWindows(ctx, c, windowsIn{Named: Named{in.ID}})
		active := windowsOut{Windows: []api.Window{}}
		for _, w := range out.Windows {
			if w.Active {
				active.Windows = append(active.Windows, w)
			}
		}
		return active, err
	})
	pointer := define(Tool{Name: "workspace_pointer", Set: setCompat, About: "Where the pointer is.", Effect: Looks, Control: Observes}, func(ctx context.Context, c *call, in target) (observeOut, error) {
		return observe(ctx, c, observeIn{Named: Named{in.ID}})
	})
	shot := define(Tool{Name: "workspace_screenshot_window", Set: setCompat, About: "A picture of a window.", Effect: Looks,
		Control: Observes}, func(ctx context.Context, c *call, in shotTarget) (pictureOut, error) {
		if in.Output != "" {
			c.ignored = append(c.ignored, "output_path")
		}
		e, err := c.desk(ctx, in.ID)
		if err != nil {
			return pictureOut{}, err
		}
		w, err := c.window(ctx, e, in.target)
		if err != nil {
			return pictureOut{}, err
		}
		return takeScreenshot(ctx, c, shotIn{Named: Named{in.ID}, Window: w.ID})
	})
	return append(list, narrowed(look, []string{"id?"}), narrowed(pointer, []string{"id?"}), shot)
}

func quoteMeta(s string) string {
	if s == "" {
		return ""
	}
	return "(?i)" + regexp.QuoteMeta(s)
}
