export HOME=$PWD/npmhome npm_config_update_notifier=false; mkdir npmhome
for p in a b c d; do
	mkdir pkg-$p; cd pkg-$p
	echo "{\"name\":\"pkg-$p\",\"version\":\"1.0.0\"}" > package.json
	for i in $(seq 300); do echo "module.exports=$i" > m$i.js; done
	npm pack --silent --pack-destination ..; cd ..
	wanted+=${wanted:+,}"\"pkg-$p\":\"file:../pkg-$p-1.0.0.tgz\""
done
echo "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{$wanted}}" > app.json
rm -rf npmhome
