#!/bin/sh
echo "$*" >> ~/calls
head -c 4000 >> ~/events
echo >> ~/events
echo noise; echo noise >&2
exit 2
