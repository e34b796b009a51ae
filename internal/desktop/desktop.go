package desktop

import "context"

// Desktop is an X display with one connection to it.
type Desktop struct {
	*display
	windowControl
	screenWatch
	screenModes
	inputDevice
}

// Open connects to a display. The cookie has 16 bytes, the secret of
// MIT-MAGIC-COOKIE-1; nil is for a server that asks for none. The context
// bounds the connecting only.
func Open(ctx context.Context, dial Dial, cookie []byte) (*Desktop, error) {
	d, err := connect(ctx, dial, cookie)
	if err != nil {
		return nil, err
	}
	return &Desktop{display: d, windowControl: windowControl{windowList{d}},
		screenWatch: screenWatch{shots{pixelReader{display: d}}}, screenModes: screenModes{d}, inputDevice: inputDevice{display: d, turn: make(chan struct{}, 1)}}, nil
}

// Close ends the connection, and with it every call that still waits. It frees
// the memory of pictures, so it is called after the server's end as well.
func (d *Desktop) Close() error {
	err := d.display.Close()
	d.shared.close()
	return err
}
