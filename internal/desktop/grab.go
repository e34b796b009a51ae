package desktop

// grabber takes pictures.
type grabber struct{}

func (g *grabber) close() {}

// selection counts who wants which events of a window.
type selection struct{}
