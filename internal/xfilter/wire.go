package xfilter

import "encoding/binary"

// order is the byte order that a client has chosen: true is most significant
// first. All that it sends and gets is in this order.
type order bool

func (o order) u16(b []byte) uint16 {
	if o {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (o order) u32(b []byte) uint32 {
	if o {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (o order) put16(b []byte, v uint16) {
	if o {
		binary.BigEndian.PutUint16(b, v)
	} else {
		binary.LittleEndian.PutUint16(b, v)
	}
}

func (o order) put32(b []byte, v uint32) {
	if o {
		binary.BigEndian.PutUint32(b, v)
	} else {
		binary.LittleEndian.PutUint32(b, v)
	}
}

// padded rounds up to whole words of four bytes, as X does everywhere.
func padded(n int) int { return (n + 3) &^ 3 }
