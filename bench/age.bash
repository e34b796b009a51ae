long=$(printf 'x%.0s' {1..200}); mkdir -p $long/$long/$long; cp "$IN"/driver .
for i in {0..49}; do echo $i > f$i; done; echo 1 > f
for ((i = 1; i < $1; i++)); do
	if ((i % 10 == 0 && $(du --apparent-size -sb "$XDG_STATE_HOME"/carrel/projects/*/history | cut -f1) < $2 * i / $1)); then
		"$CARREL" run --history on -- sh -c "touch f$((i % 50)); ./driver -calls $long/$long/$long/w"
	else
		"$CARREL" run --history on -- touch f$((i % 50))
	fi
done >/dev/null
tar -C "$XDG_STATE_HOME"/.. -cf "$3" .
