package api

import "encoding/json"

// Operations on the desktop of a workspace with a virtual display. Each request has a
// [Desktop] with one of its fields set; what it gives besides a few words comes as a
// descriptor of a file in memory, whose kind and size the reply tells.
const (
	OpDesktopSee = "desktop-see" // look, wait, read: allowed in every mode
	OpDesktopDo  = "desktop-do"  // act: needs the control to be active, or a person who has taken over
	OpWatch      = "watch"       // have a VNC viewer let in, as long as the caller stays: with Follow

	// The clipboard of any workspace, with or without a display; only for a person at a
	// terminal.
	OpClipboardSend = "clipboard-send" // [Desktop.Copy]; the content comes as a descriptor
	OpClipboardTake = "clipboard-take" // [Desktop.Paste]; it goes as one
)

// Desktop is one request about it.
type Desktop struct {
	// desktop-see:
	Shot        *Shot         `json:"shot,omitempty"`
	Windows     *Windows      `json:"windows,omitempty"`
	Pointer     bool          `json:"pointer,omitempty"`
	ScreenWait  *ScreenWait   `json:"still,omitempty"`
	Paste       *Clip         `json:"paste,omitempty"` // read a selection
	Tree        *Tree         `json:"tree,omitempty"`
	Record      *Record       `json:"record,omitempty"`
	Size        bool          `json:"size,omitempty"`
	PictureSize *ComputerSize `json:"told,omitempty"` // the size that a model is to be told

	// desktop-do:
	Steps   []DesktopInput `json:"steps,omitempty"`
	Window  *WindowChange  `json:"window,omitempty"`
	Copy    *Clip          `json:"copy,omitempty"` // set a selection; the content comes as a descriptor
	Action  *Computer      `json:"action,omitempty"`
	Resize  *[2]int        `json:"resize,omitempty"` // width and height in pixels
	Element *Element       `json:"element,omitempty"`
}

// Shot is a picture that is wanted. Lengths are in pixels.
type Shot struct {
	Window    string  `json:"window,omitempty"` // its id; "" is the screen
	Area      *[4]int `json:"area,omitempty"`   // x, y, width, height; from the window's corner where there is one
	MaxWidth  int     `json:"max_width,omitempty"`
	MaxHeight int     `json:"max_height,omitempty"`
	Cursor    bool    `json:"cursor,omitempty"`
	Format    string  `json:"format,omitempty"`  // png, jpeg, raw; "" is png
	Quality   int     `json:"quality,omitempty"` // of jpeg, 1 to 100; 0 is 80
	Since     string  `json:"since,omitempty"`   // token of an earlier picture
}

// Windows lists windows, or waits for one. Title and Class are regular expressions.
type Windows struct {
	Window string `json:"window,omitempty"` // its id
	Title  string `json:"title,omitempty"`
	Class  string `json:"class,omitempty"`
	App    string `json:"app,omitempty"` // id or name of the app that it belongs to
	PID    int    `json:"pid,omitempty"` // as the program counts it
	All    bool   `json:"all,omitempty"` // menus and tooltips too
	Wait   bool   `json:"wait,omitempty"`
	Gone   bool   `json:"gone,omitempty"` // wait until there is none
	Millis int    `json:"millis,omitempty"`
}

// ScreenWait waits until a part of the screen changes, or has been still for a while.
type ScreenWait struct {
	Area    *[4]int `json:"area,omitempty"` // nil is the screen
	Changes bool    `json:"changes,omitempty"`
	Quiet   int     `json:"quiet,omitempty"`  // milliseconds without a change
	Millis  int     `json:"millis,omitempty"` // at most
}

// Clip is a selection: clipboard or primary, in one format.
type Clip struct {
	Selection string `json:"selection,omitempty"` // "" is clipboard
	Type      string `json:"type,omitempty"`      // "" is text; image/png
	Targets   bool   `json:"targets,omitempty"`   // list its formats
}

// DesktopInput is one thing that a person does with mouse or keyboard.
type DesktopInput struct {
	Do        string  `json:"do"` // move, click, press, release, drag, scroll, key, type, pause
	At        *[2]int `json:"at,omitempty"`
	From      *[2]int `json:"from,omitempty"` // drag
	Button    int     `json:"button,omitempty"`
	Count     int     `json:"count,omitempty"`     // clicks, notches, how often keys are pressed
	Direction string  `json:"direction,omitempty"` // scroll: up, down, left, right
	Keys      string  `json:"keys,omitempty"`      // key: what to press; else what is held
	Text      string  `json:"text,omitempty"`
	Millis    int     `json:"millis,omitempty"` // key: held; drag: takes; pause
}

// Changes of a window.
const (
	WindowFocus    = "focus"
	WindowRaise    = "raise"
	WindowMove     = "move"
	WindowResize   = "resize"
	WindowMinimise = "minimise"
	WindowShow     = "show"
	WindowClose    = "close" // politely
	WindowKill     = "kill"
)

// WindowChange changes one.
type WindowChange struct {
	Window string `json:"window"`
	Do     string `json:"do"`
	To     [2]int `json:"to,omitzero"` // move: x, y; resize: width, height
}

// Computer is one use of Anthropic's computer-use tool.
type Computer struct {
	Version string          `json:"version,omitempty"` // 20241022, 20250124 or 20251124; "" is the latest
	Input   json.RawMessage `json:"input"`
	ComputerSize
}

// ComputerSize bounds the pictures that a model sees, in pixels; 0 is one of the usual
// sizes.
type ComputerSize struct {
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
}

// Tree is what the programs tell of themselves for people who cannot see, or what fits
// of it.
type Tree struct {
	Role   string   `json:"role,omitempty"`
	Name   string   `json:"name,omitempty"` // a regular expression
	Text   string   `json:"text,omitempty"` // likewise
	App    string   `json:"app,omitempty"`  // likewise, of the application
	States []string `json:"states,omitempty"`
	Depth  int      `json:"depth,omitempty"`  // 0 is the most there is
	Hidden bool     `json:"hidden,omitempty"` // also what does not show
	Lines  bool     `json:"lines,omitempty"`  // as text, one element a line, and not as JSON
	Wait   bool     `json:"wait,omitempty"`
	Gone   bool     `json:"gone,omitempty"`
	Millis int      `json:"millis,omitempty"`
}

// What is done with an element of the tree.
const (
	ElementInvoke = "invoke"
	ElementSet    = "set"
	ElementFocus  = "focus"
	ElementScroll = "scroll"
	ElementText   = "text" // desktop-see
)

// Element acts on one element.
type Element struct {
	Ref    string   `json:"ref"`
	Do     string   `json:"do"`
	Action string   `json:"action,omitempty"` // invoke: "" is the first
	Text   *string  `json:"text,omitempty"`   // set
	Value  *float64 `json:"value,omitempty"`  // set
}

// Record makes a video until the caller goes.
type Record struct {
	FPS    int    `json:"fps,omitempty"`    // 1 to 60; 0 is 10
	Format string `json:"format,omitempty"` // mkv, mp4 or webm; "" is mkv
}

// Watch asks for a VNC viewer to be let in.
type Watch struct {
	Port     uint16 `json:"port,omitempty"`      // of 127.0.0.1; 0 is the first that is free from 5910 on
	ViewOnly bool   `json:"view_only,omitempty"` // also in a take-over
}

// Watching is what a viewer needs. The password is a secret of the person who asked:
// it is told here and nowhere else.
type Watching struct {
	Address  string `json:"address"` // host:port
	Password string `json:"password"`
	Acts     bool   `json:"acts"`            // keys and pointer go in while the person has taken over
	Stays    bool   `json:"stays,omitempty"` // as long as the workspace; else as long as the caller
	Human    string `json:"human,omitempty"` // what a person has to know who acts
}

// Types of what comes as a descriptor.
const (
	TypePNG  = "image/png"
	TypeJPEG = "image/jpeg"
	TypeRaw  = "image/x-bgr0" // rows of blue, green, red and a byte without meaning
	TypeJSON = "application/json"
	TypeText = "text/plain;charset=utf-8"
)

// DesktopReply is what a request about the desktop gives.
type DesktopReply struct {
	Type    string   `json:"type,omitempty"`  // of the file that comes beside it, "" for none
	Bytes   int64    `json:"bytes,omitempty"` // of it
	Picture *Picture `json:"picture,omitempty"`
	Pointer *[2]int  `json:"pointer,omitempty"`
	Size    *[2]int  `json:"size,omitempty"`
	Text    string   `json:"text,omitempty"`
	Window  string   `json:"window,omitempty"` // that was waited for
	Human   string   `json:"human,omitempty"`  // what a person has to know who acts
}

// Picture tells of one.
type Picture struct {
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Area      [4]int `json:"area"` // what it shows, in pixels of the screen
	Token     string `json:"token"`
	Unchanged bool   `json:"unchanged,omitempty"` // since the token of the request; there is no file then
}

// Window is one on the desktop. Title, Class, Instance and PID are the program's own
// word; App is what its connection says.
type Window struct {
	ID         string `json:"id"`
	Title      string `json:"title"`
	Class      string `json:"class"`
	Instance   string `json:"instance,omitempty"`
	PID        int    `json:"pid,omitempty"`
	App        string `json:"app,omitempty"`
	Type       string `json:"type,omitempty"`
	Area       [4]int `json:"area"` // x, y, width, height, without the frame
	Active     bool   `json:"active,omitempty"`
	Minimised  bool   `json:"minimised,omitempty"`
	Maximised  bool   `json:"maximised,omitempty"`
	Fullscreen bool   `json:"fullscreen,omitempty"`
	Hidden     bool   `json:"hidden,omitempty"`
	Urgent     bool   `json:"urgent,omitempty"`
	Modal      bool   `json:"modal,omitempty"`
	Override   bool   `json:"override,omitempty"` // a menu, a tooltip
}

// CodeNoDesktop says that a workspace has no virtual display.
const CodeNoDesktop = "no-desktop"
