package mcpserver

import (
	"context"

	"carrel/internal/api"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type terminalIn struct {
	appOf
	Full bool `json:"full,omitempty" jsonschema:"with what has left the screen"`
}

type screenOut struct {
	Screen *api.Screen `json:"screen"`
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
	return []sdk.Content{&sdk.TextContent{Text: text}}
}

func readTerminal(ctx context.Context, c *call, in terminalIn) (screenOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return screenOut{}, err
	}
	r, err := e.Call(ctx, api.Request{Op: api.OpTerminalRead, App: in.App, Full: in.Full})
	return screenOut{r.Screen}, err
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
