# lib.sh - what the scripts of gfnn-wave share, in addition to what all apps share.
app=gfnn-wave
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
small="--elements 12x10x8 --steps 2"

# iterations FILE: of each step, "13 13".
iterations()
{
    tr -d '\n' <"$1" | sed -n 's/.*"iterations": \[\([^]]*\)\].*/\1/p' | tr ',' ' ' | xargs
}

# close A B SHARE: both are numbers, and differ by less than this share.
close()
{
    awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { d = a - b; exit !(a != "" && a > 0 && d < s * a && -d < s * a) }'
}

# resized FILE REACH OUT: the weights FILE with kernels of another reach, cropped or repeated. Nothing is trained to go
# with them.
resized()
{
    python3 - "$@" <<'END'
import struct
import sys
import zlib
data, reach = open(sys.argv[1], 'rb').read(), int(sys.argv[2])
nd, form, kernels, coefs, *layers = struct.unpack_from('<6I', data, 8)
begin, wide = 4 + 4 * (8 + sum(layers) + 2) + 8 * 9, 2 * nd + 1
end = begin + 4 * kernels * 9 * wide ** 3
value = [data[at:at + 4] for at in range(begin, end, 4)]
pick = [(k + nd - reach) % wide for k in range(2 * reach + 1)]
K = b''.join(value[((matrix * wide + z) * wide + y) * wide + x]
             for matrix in range(kernels * 9) for z in pick for y in pick for x in pick)
body = data[:8] + struct.pack('<I', reach) + data[12:begin] + K + data[end:-4]
open(sys.argv[3], 'wb').write(body + struct.pack('<I', zlib.crc32(body)))
END
}
