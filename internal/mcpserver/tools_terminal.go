package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"carrel/internal/api"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type terminalIn struct {
	appOf
	Full bool `json:"full,omitempty" jsonschema:"with what has left the screen"`
}

type screenOut struct {
	Screen *api.Screen `json:"-"`
	Size   *[2]int     `json:"size,omitempty"` // columns, rows
	Title  string      `json:"title,omitempty"`
	Cursor *[2]int     `json:"cursor,omitempty"` // column and row, from 0
}

// content is the screen as a person sees it.
func (s screenOut) content() []sdk.Content {
	if s.Screen == nil {
		return nil
	}
	text := ""
	for _, l := range append(append([]string{}, s.Screen.Scrollback...), s.Screen.Lines...) {
		text += l + "\n"
	}
	if over := len(text) - mostText; over > 0 { // the screen is at the end
		text = fmt.Sprintf("[truncated: %d bytes of what has left the screen]\n", over) + strings.ToValidUTF8(text[over:], "")
	}
	return textOf(text)
}

func readTerminal(ctx context.Context, c *call, in terminalIn) (screenOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return screenOut{}, err
	}
	r, err := e.Call(ctx, api.Request{Op: api.OpTerminalRead, App: in.App, Full: in.Full})
	out := screenOut{Screen: r.Screen}
	if r.Screen != nil {
		out.Size, out.Title, out.Cursor = &[2]int{r.Screen.Columns, r.Screen.Rows}, r.Screen.Title, &r.Screen.Cursor
	}
	return out, err
}

type typeIn struct {
	appOf
	Text    string   `json:"text,omitempty" jsonschema:"pasted where the program can tell"`
	Keys    []string `json:"keys,omitempty" jsonschema:"after the text: Enter, Up, ctrl+c, ..."`
	Columns int      `json:"columns,omitempty" jsonschema:"with rows: a new size"`
	Rows    int      `json:"rows,omitempty"`
}

type doneOut struct {
	Done bool   `json:"done"`
	Text string `json:"text,omitempty"`
}

func typeTerminal(ctx context.Context, c *call, in typeIn) (doneOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return doneOut{}, err
	}
	_, err = e.Call(ctx, api.Request{Op: api.OpTerminalSend, App: in.App, Input: &api.Input{Text: in.Text, Keys: in.Keys, Columns: in.Columns, Rows: in.Rows}})
	return doneOut{Done: err == nil}, err
}
