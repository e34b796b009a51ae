package network

import "carrel/internal/knock"

// watchDoor has connections inside wait until their far side is reached, where the stage
// could make the sockets for it.
func (n *Network) watchDoor(sockets []int) {
	if len(sockets) == 0 {
		return
	}
	var err error
	if n.door, err = knock.Watch(sockets, n.knock); err != nil {
		n.c.Note("connections inside are accepted before their far side is reached: %v", err)
	}
}

// knock answers for one connection.
func (n *Network) knock(ends knock.Ends) knock.Answer {
	if !ends.To.Addr().IsLoopback() {
		return n.engine.Knock(ends)
	}
	n.mu.Lock()
	f := n.forwards[ends.To.Port()]
	n.mu.Unlock()
	if f == nil {
		return knock.Accepted
	}
	return f.Knock(ends)
}
