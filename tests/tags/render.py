"""Images of tags as a camera takes them, and a real detector that looks at them.

A tag is a plane with the pattern of tag36h11, which the detector's own library draws. A pixel is the mean of many
samples; each has its place in the pixel, its defocus, and its instant of the exposure, so that perspective, blur and
motion are what they are in a camera. Pixel (u, v) is the one whose centre is at u, v, as in CameraInfo.
"""

import contextlib
import ctypes
import importlib.util
import io
import pathlib

import numpy as np

CELLS = 10
"""Cells of the drawn pattern by edge: eight from black border to black border, and a white one on each side."""
BORDER = 8
PAPER = 12
"""Cells of the paper by edge, as the border counts: what is printed is white around the pattern, too."""


class Image(ctypes.Structure):
    """image_u8_t of the library."""

    _fields_ = [
        ('width', ctypes.c_int32),
        ('height', ctypes.c_int32),
        ('stride', ctypes.c_int32),
        ('data', ctypes.POINTER(ctypes.c_uint8)),
    ]


def is_installed():
    """Whether the detector is there."""
    return importlib.util.find_spec('apriltag') is not None


def patterns(ids):
    """Return the cells of tags by identity: 1 is white."""
    [folder] = importlib.util.find_spec('apriltag').submodule_search_locations
    library = ctypes.CDLL(str(pathlib.Path(folder) / 'libapriltag.so'))
    library.tag36h11_create.restype = ctypes.c_void_p
    library.apriltag_to_image.restype = ctypes.POINTER(Image)
    library.apriltag_to_image.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    family = library.tag36h11_create()
    found = {}
    for number in ids:
        image = library.apriltag_to_image(family, number).contents
        cells = np.ctypeslib.as_array(image.data, (image.height, image.stride))[:, : image.width]
        assert cells.shape == (CELLS, CELLS), cells.shape
        found[number] = (cells > 0).astype(np.float32)
    return found


def detector(decimate=2.0):
    """Return AprilTag 3 with the settings that apriltag_ros has where nothing is set."""
    with contextlib.redirect_stdout(io.StringIO()):
        import apriltag
    return apriltag.apriltag('tag36h11', threads=1, maxhamming=0, decimate=decimate, refine_edges=True)


def detect(finder, image):
    """Return the corners of the tags of an image by identity, in the order of apriltag_msgs."""
    found = {}
    for one in finder.detect(np.ascontiguousarray(image)):
        found[one['id']] = np.array(one['lb-rb-rt-lt'])
    return found


def corners(size):
    """Where the corners are on a tag of this edge, x to the right, y up: as the detector lists them."""
    half = 0.5 * size
    return np.array([[-half, -half, 0.0], [half, -half, 0.0], [half, half, 0.0], [-half, half, 0.0]])


class Camera:
    """A pinhole, with what blurs and disturbs its images."""

    def __init__(self, width=640, height=480, focal=600.0, defocus=0.5, noise=3.0, samples=34):
        """Lengths in px; noise in grey levels of 255, of a middle grey."""
        self.width, self.height, self.focal = width, height, focal
        self.centre = np.array([0.5 * (width - 1), 0.5 * (height - 1)])
        self.defocus, self.noise = defocus, noise
        self.offsets, self.instants = lattice(samples, defocus)

    def project(self, points):
        """Return the pixels of points in the axes of the camera: x right, y down, z ahead."""
        return points[:, :2] / points[:, 2:] * self.focal + self.centre

    def image(self, tags, poses, cells, generator, light=(0.0, 0.0)):
        """Return the image of tags (identity and edge, m) at their poses in the camera, one pose for each instant of the
        exposure, as arrays of (R, t). `light` is the change of brightness to the right and down, as a part of it."""
        picture = np.full((self.height, self.width), 0.35, dtype=np.float32)
        for (number, size), by_instant in zip(tags, poses):
            self.paint(picture, cells[number], size, by_instant)
        u, v = np.meshgrid(np.linspace(-0.5, 0.5, self.width), np.linspace(-0.5, 0.5, self.height))
        grey = 200.0 * picture * (1.0 + light[0] * u + light[1] * v)
        # Photons and electronics.
        sigma = self.noise * np.sqrt(0.3 + 0.7 * grey / 100.0)
        grey = grey + sigma * generator.standard_normal(grey.shape)
        return np.clip(np.rint(grey), 0, 255).astype(np.uint8)

    def paint(self, picture, cells, size, by_instant):
        """Paint the paper of a tag over a picture of brightnesses."""
        reach = 0.5 * PAPER / BORDER * size
        edge = np.array([[-reach, -reach, 0], [reach, -reach, 0], [reach, reach, 0], [-reach, reach, 0]], dtype=float)
        pixels = []
        for rotation, place in by_instant:
            points = edge @ rotation.T + place
            if points[:, 2].min() < 0.05:
                return
            pixels.append(self.project(points))
        pixels = np.concatenate(pixels)
        margin = 2 + 3 * self.defocus
        low = np.maximum(np.floor(pixels.min(0) - margin), 0).astype(int)
        high = np.minimum(np.ceil(pixels.max(0) + margin) + 1, [self.width, self.height]).astype(int)
        if (low >= high).any():
            return
        u, v = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
        u, v = (((x - c) / self.focal).ravel().astype(np.float32) for x, c in zip((u, v), self.centre))
        part = picture[low[1] : high[1], low[0] : high[0]]
        behind, mean = part.ravel(), np.zeros(u.size, dtype=np.float32)
        # The pattern has its first row at the top. Around it are a white cell, and what the paper does not cover.
        wide = np.full((PAPER + 2, PAPER + 2), -1.0, dtype=np.float32)
        wide[1:-1, 1:-1] = 1.0
        wide[2:-2, 2:-2] = 0.05 + 0.95 * cells
        wide = wide.ravel()
        for (du, dv), instant in zip(self.offsets / self.focal, self.instants):
            rotation, place = by_instant[int(instant * len(by_instant))]
            # From the ray of a pixel to the plane of the tag.
            plane = np.linalg.inv(np.column_stack([rotation[:, 0], rotation[:, 1], place]))
            plane = np.array([plane[0] + reach * plane[2], reach * plane[2] - plane[1], plane[2]])
            plane[:2] *= 0.5 * PAPER / reach
            plane[:, 2] += plane[:, 0] * du + plane[:, 1] * dv
            x, y, w = (np.float32(a) * u + (np.float32(b) * v + np.float32(c)) for a, b, c in plane)
            # The cells before the first are 0, and those behind the last, too.
            cell = [np.clip(a / w + 1.0, 0.0, PAPER + 1.0).astype(np.int32) for a in (x, y)]
            painted = wide[cell[1] * (PAPER + 2) + cell[0]]
            mean += np.where(painted < 0, behind, painted)
        part[:] = (mean / len(self.offsets)).reshape(part.shape)


def lattice(count, defocus):
    """Return places of samples about the centre of a pixel, px, and their instants in (0, 1).

    `count` is a number of Fibonacci: of as many rows, columns and instants, each has one sample, so that an edge along
    the image is as smooth as any other. A point of the scene is spread over the square of the pixel and, by the lens, as
    a bell over its neighbours."""
    k = np.arange(count)
    by_row = int(round(count * 0.5 * (np.sqrt(5.0) - 1.0)))
    by_instant = next(n for n in range(count // 3, count) if np.gcd(n, count) == 1)
    x = np.linspace(-0.5 - 4 * defocus, 0.5 + 4 * defocus, 4001)
    density = np.abs(x) <= 0.5
    if defocus > 0:
        bell = np.exp(-0.5 * (x / defocus) ** 2)
        density = np.convolve(density, bell, mode='same')
    share = np.cumsum(density) - 0.5 * density
    share /= np.sum(density)
    shares = [(k + 0.5) / count, (k * by_row % count + 0.5) / count]
    return np.column_stack([np.interp(s, share, x) for s in shares]), (k * by_instant % count + 0.5) / count
