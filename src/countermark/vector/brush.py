"""The brush: display items painted on one Skia canvas; the caller has put document points on it."""

from __future__ import annotations

import math
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box, Matrix
from countermark.vector.display import Area, Clip, Group, Image, Item, Mask, Shape, Stroke, Tiling
from countermark.vector.paint_server import PaintServer, Solid
from countermark.vector.path import transformed
from countermark.vector.shader import matrix_of, path_of, shader_of

MAX_TILES: Final = 20_000


class Brush:
    """Draws display items on one canvas."""

    def __init__(self, skia: Any, canvas: Any) -> None:
        """Take the engine and the canvas to paint on."""
        self._skia = skia
        self._canvas = canvas

    def item(self, item: Item) -> None:
        """Paint one item."""
        match item:
            case Group():
                self._group(item)
            case Image():
                self._image(item)
            case Shape():
                path = self._path(Area(item.path, item.rule))
                for mark in item.marks:
                    if isinstance(mark, Stroke):
                        self._stroke(item, mark)
                    elif isinstance(mark.ink, Tiling):
                        self._tiled(path, mark.ink, mark.opacity, mark.blend)
                    else:
                        self._canvas.drawPath(path, self.paint(mark.ink, mark.opacity, mark.blend))

    def paint(self, ink: PaintServer, opacity: float, blend: str) -> Any:
        """Return Skia's paint for an ink."""
        skia = self._skia
        paint = skia.Paint()
        paint.setAntiAlias(True)
        paint.setDither(False)
        paint.setBlendMode(self._blend(blend))
        if isinstance(ink, Solid):
            paint.setColor(skia.Color(*ink.rgb))
            paint.setAlphaf(opacity)
            return paint
        shader = shader_of(skia, ink)
        if shader is None:
            last = ink.stops[-1]
            paint.setColor(skia.Color(*last.rgb))
            paint.setAlphaf(opacity * last.opacity)
        else:
            paint.setColor(skia.ColorBLACK)
            paint.setAlphaf(opacity)
            paint.setShader(shader)
        return paint

    def _group(self, group: Group) -> None:
        canvas = self._canvas
        canvas.save()
        if group.matrix is not None:
            canvas.concat(matrix_of(self._skia, group.matrix))
        several = group.clip is not None and len(group.clip.areas) != 1
        if group.clip is not None and not several:
            (area,) = group.clip.areas
            canvas.clipPath(self._path(area), self._skia.ClipOp.kIntersect, True)  # noqa: FBT003
        together = group.opacity < 1 or group.blend != "Normal" or group.isolate
        layered = several or together or group.mask is not None
        if layered:
            paint = self._skia.Paint()
            paint.setAlphaf(group.opacity)
            paint.setBlendMode(self._blend(group.blend))
            canvas.saveLayer(None, paint)
        for item in group.items:
            self.item(item)
        if several and group.clip is not None:
            self._keep(group.clip)
        if group.mask is not None:
            self._masked(group.mask)
        if layered:
            canvas.restore()
        canvas.restore()

    def _keep(self, clip: Clip) -> None:
        """Keep of the current layer what lies in any area of a clip; no path operation can then go wrong."""
        skia, canvas = self._skia, self._canvas
        keep = skia.Paint()
        keep.setBlendMode(skia.BlendMode.kDstIn)
        canvas.saveLayer(None, keep)
        for area in clip.areas:
            canvas.drawPath(self._path(area), self.paint(Solid((0, 0, 0)), 1.0, "Normal"))
        canvas.restore()

    def _masked(self, mask: Mask) -> None:
        """Keep of the current layer as much as a mask lets through."""
        skia, canvas = self._skia, self._canvas
        keep = skia.Paint()
        keep.setBlendMode(skia.BlendMode.kDstOut if mask.invert else skia.BlendMode.kDstIn)
        if mask.luminance:
            luma = skia.LumaColorFilter.Make()
            if mask.linear:
                luma = skia.ColorFilters.Compose(luma, skia.ColorFilters.SRGBToLinearGamma())
            keep.setColorFilter(luma)
        canvas.saveLayer(None, keep)
        if mask.outside:
            canvas.drawColor(skia.ColorWHITE)
        for item in mask.items:
            self.item(item)
        canvas.restore()

    def _image(self, image: Image) -> None:
        skia, canvas = self._skia, self._canvas
        decoded = skia.Image.MakeFromEncoded(skia.Data.MakeWithCopy(image.data))
        decoded = decoded.makeRasterImage() if decoded is not None else None
        if decoded is None:
            raise CountermarkError(
                "artifact_invalid",
                f"The picture of object {image.node} cannot be decoded.",
                next_action="Embed it again as PNG.",
                details={"object": image.node},
            )
        sampling = skia.SamplingOptions(skia.FilterMode.kNearest)
        if image.smooth:
            sampling = skia.SamplingOptions(skia.FilterMode.kLinear, skia.MipmapMode.kLinear)
        canvas.save()
        canvas.concat(matrix_of(skia, image.matrix))
        whole = skia.Rect.MakeWH(decoded.width(), decoded.height())
        paint = skia.Paint()
        paint.setAntiAlias(True)
        paint.setDither(False)
        canvas.drawImageRect(decoded, whole, skia.Rect.MakeWH(image.width, image.height), sampling, paint)
        canvas.restore()

    def _stroke(self, shape: Shape, stroke: Stroke) -> None:
        skia, canvas = self._skia, self._canvas
        native, ink = shape.path, stroke.ink
        canvas.save()
        if one_sided(shape, stroke):
            side = skia.ClipOp.kIntersect if stroke.align == "Inside" else skia.ClipOp.kDifference
            canvas.clipPath(self._path(Area(native, shape.rule)), side, True)  # noqa: FBT003
        if stroke.pen is not None:
            back = stroke.pen.inverse()
            native = transformed(native, back)
            ink = ink if isinstance(ink, Solid) else ink.seen_through(back)
            canvas.concat(matrix_of(skia, stroke.pen))
        paint = self.paint(Solid((0, 0, 0)) if isinstance(ink, Tiling) else ink, stroke.opacity, stroke.blend)
        take_pen(skia, paint, shape, stroke)
        line = self._path(Area(native, "NonZero"))
        if isinstance(ink, Tiling):
            outline = skia.Path()
            paint.getFillPath(line, outline)
            self._tiled(outline, ink, stroke.opacity, stroke.blend)
        else:
            canvas.drawPath(line, paint)
        canvas.restore()

    def _path(self, area: Area) -> Any:
        return path_of(self._skia, area)

    def _tiled(self, path: Any, tiling: Tiling, opacity: float, blend: str) -> None:
        """Fill a path with repeated tiles, each drawn for itself: a bitmap of one would blur every edge.

        Beyond `MAX_TILES` the tiles are so small that Skia's own repeated bitmap shows the same.
        """
        skia, canvas = self._skia, self._canvas
        box = tiling.tile
        matrix = tiling.matrix @ Matrix(e=box.x0, f=box.y0)
        recorder = skia.PictureRecorder()
        tile = skia.Rect.MakeWH(box.width, box.height)
        recording = recorder.beginRecording(tile)
        recording.translate(-box.x0, -box.y0)
        inner = Brush(skia, recording)
        for item in tiling.items:
            inner.item(item)
        picture = recorder.finishRecordingAsPicture()
        canvas.save()
        canvas.clipPath(path, skia.ClipOp.kIntersect, True)  # noqa: FBT003
        seen = canvas.getLocalClipBounds()
        if not seen.isEmpty():
            layer = skia.Paint()
            layer.setAlphaf(opacity)
            layer.setBlendMode(self._blend(blend))
            canvas.saveLayer(None, layer)
            found = Box(seen.left(), seen.top(), seen.right(), seen.bottom()).seen_through(matrix.inverse())
            columns = range(math.floor(found.x0 / box.width), math.ceil(found.x1 / box.width))
            rows = range(math.floor(found.y0 / box.height), math.ceil(found.y1 / box.height))
            if len(columns) * len(rows) > MAX_TILES:
                mode = skia.TileMode.kRepeat
                paint = skia.Paint()
                local = matrix_of(skia, matrix)
                paint.setShader(picture.makeShader(mode, mode, skia.FilterMode.kLinear, local, tile))
                canvas.drawPaint(paint)
            else:
                canvas.concat(matrix_of(skia, matrix))
                for row in rows:
                    for column in columns:
                        canvas.save()
                        canvas.translate(column * box.width, row * box.height)
                        # Not anti-aliased: every pixel belongs to one tile, so that no seam shows between two.
                        canvas.clipRect(tile, False)  # noqa: FBT003
                        canvas.drawPicture(picture)
                        canvas.restore()
            canvas.restore()
        canvas.restore()

    def _blend(self, name: str) -> Any:
        return self._skia.BlendMode.kSrcOver if name == "Normal" else getattr(self._skia.BlendMode, f"k{name}")


def one_sided(shape: Shape, stroke: Stroke) -> bool:
    """Return whether a stroke lies on one side of its path: one of twice the width, cut along the path."""
    return stroke.align != "Center" and all(subpath.get("closed") for subpath in shape.path["subpaths"])


def take_pen(skia: Any, paint: Any, shape: Shape, stroke: Stroke) -> None:
    """Make a paint draw lines as a stroke says: cap, join, miter limit, width and dashes."""
    paint.setStyle(skia.Paint.kStroke_Style)
    paint.setStrokeCap(getattr(skia.Paint, f"k{stroke.cap}_Cap"))
    paint.setStrokeJoin(getattr(skia.Paint, f"k{stroke.join}_Join"))
    paint.setStrokeMiter(stroke.miter_limit)
    paint.setStrokeWidth(stroke.width * 2 if one_sided(shape, stroke) else stroke.width)
    if stroke.dash:
        paint.setPathEffect(skia.DashPathEffect.Make(list(stroke.dash), stroke.dash_offset))
